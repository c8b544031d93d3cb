//! The directory of a survey. Rows are written as they come; what a kill leaves is repaired.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use windlass_probe::Settings;
use windlass_probe::session::{Family, Runs};
use windlass_probe::survey::{HostRow, RunRow, journal};

use crate::envelope::SCHEMA;

/// The kind of document that `survey.json` is.
const KIND: &str = "probe.survey-arguments";

/// `survey.json`: what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    #[serde(alias = "schema_version")]
    schema: u32,
    #[serde(default)]
    kind: String,
    /// The version that began it.
    windlass: String,
    /// In seconds since 1970.
    begun_unix_s: u64,
    hosts: usize,
    /// Arguments that must be the same for all rows of a survey.
    arguments: serde_json::Map<String, serde_json::Value>,
}

impl Manifest {
    pub(super) fn of(settings: &Settings, os: bool, hosts: usize) -> Manifest {
        let tests: Vec<String> = settings.tests.iter().map(|test| test.to_string()).collect();
        let family = match settings.family {
            None => "any",
            Some(Family::V4) => "IPv4",
            Some(Family::V6) => "IPv6",
        };
        let until_certain = matches!(settings.runs, Runs::UntilCertain { .. });
        let dialogue = [
            ("dialogue", settings.scheme.map(|scheme| scheme.name.to_owned())),
            ("send", Some(settings.exchange.send.escape_ascii().to_string())),
            ("until", settings.exchange.until.as_ref().map(ToString::to_string)),
            ("ecn", settings.ecn.then(|| "asked".to_owned())),
            ("object", settings.find_object.then(|| "found".to_owned())),
            ("runs_until", until_certain.then(|| "certain".to_owned())),
            ("measures", settings.controllers.as_ref().map(|_| "controllers".to_owned())),
        ];
        // Surveys from before these arguments have no such keys.
        let dialogue = dialogue.into_iter().filter_map(|(name, value)| {
            Some((name, value.filter(|value| !value.is_empty())?.into()))
        });
        let arguments = [
            ("tests", tests.into()),
            ("runs", settings.runs.most().into()),
            ("acks", settings.acks.into()),
            ("timeout_ms", settings.timeout.as_millis_f64().into()),
            ("patience_ms", settings.patience.as_millis_f64().into()),
            ("mss", settings.mss.into()),
            ("family", family.into()),
            ("user_agent", settings.user_agent.clone().into()),
            ("os", os.into()),
        ];
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Manifest {
            schema: SCHEMA,
            kind: KIND.to_owned(),
            windlass: env!("CARGO_PKG_VERSION").to_owned(),
            begun_unix_s: begun.as_secs(),
            hosts,
            arguments: arguments
                .map(|(name, value)| (name.to_owned(), value))
                .into_iter()
                .chain(dialogue.map(|(name, value)| (name.to_owned(), value)))
                .collect(),
        }
    }

    /// The first argument that differs, as it was and as it is.
    fn difference(&self, now: &Manifest) -> Option<String> {
        let differs = |name: &&String| self.arguments.get(*name) != now.arguments.get(*name);
        let name = self.arguments.keys().chain(now.arguments.keys()).find(differs)?;
        let value = |of: &Manifest| of.arguments.get(name).cloned().unwrap_or_default().to_string();
        Some(format!("{name} was {} and is {}", value(self), value(now)))
    }
}

/// The files of a survey.
pub(super) struct Results {
    /// Locked: one survey at a time writes into a directory.
    hosts: Option<File>,
    runs: Option<File>,
    done: Vec<HostRow>,
}

impl Results {
    /// Makes the directory.
    pub(super) fn create(
        out: &Path,
        manifest: &Manifest,
        list: &[String],
    ) -> Result<Results, Failure> {
        if out.symlink_metadata().is_ok() {
            return Err(refuse(out, "exists already; choose another name, or --resume to go on"));
        }
        let made = || -> io::Result<Results> {
            fs::create_dir_all(out)?;
            fs::write(out.join("hosts.txt"), list.join("\n") + "\n")?;
            let mut runs = append(&out.join("runs.csv"))?;
            runs.write_all(&journal::header::<RunRow>())?;
            let mut hosts = append(&out.join("hosts.csv"))?;
            hosts.write_all(&journal::header::<HostRow>())?;
            // The last one: with it, it is a survey.
            let json = serde_json::to_string_pretty(manifest)?;
            let temporary = out.join(".survey.json.tmp");
            fs::write(&temporary, json + "\n")?;
            fs::rename(temporary, out.join("survey.json"))?;
            Ok(Results { hosts: Some(lock(hosts)?), runs: Some(runs), done: Vec::new() })
        };
        made().map_err(|error| {
            // It is no survey, and would be in the way of the next attempt.
            let _ = fs::remove_dir_all(out);
            refuse(out, &format!("cannot be written: {error}"))
        })
    }

    /// Goes on where a survey was left; only looks, for a dry run.
    pub(super) fn resume(
        out: &Path,
        manifest: &Manifest,
        list: &[String],
        look_only: bool,
    ) -> Result<Results, Failure> {
        let io = |error: io::Error| refuse(out, &error.to_string());
        let text = fs::read_to_string(out.join("survey.json"))
            .map_err(|_| refuse(out, "no survey.json in it: there is nothing to resume"))?;
        let old: Manifest = serde_json::from_str(&text)
            .map_err(|error| refuse(out, &format!("survey.json: {error}")))?;
        if old.schema != SCHEMA {
            return Err(refuse(out, "is of another version of windlass"));
        }
        if let Some(difference) = old.difference(manifest) {
            return Err(refuse(
                out,
                &format!("--resume: {difference}: give what was given before"),
            ));
        }
        let old_list = fs::read_to_string(out.join("hosts.txt")).map_err(io)?;
        if !old_list.lines().eq(list.iter().map(String::as_str)) {
            return Err(refuse(
                out,
                "--resume: the list of hosts is another one (see hosts.txt in it)",
            ));
        }
        let paths = (out.join("hosts.csv"), out.join("runs.csv"));
        let hosts =
            if look_only { None } else { Some(append(&paths.0).and_then(lock).map_err(io)?) };
        let runs = if look_only { None } else { Some(append(&paths.1).map_err(io)?) };
        let (host_rows, run_rows) =
            (fs::read(&paths.0).map_err(io)?, fs::read(&paths.1).map_err(io)?);
        let left = journal::recover(&host_rows, &run_rows).map_err(|why| refuse(out, &why))?;
        let mut results = Results { hosts, runs, done: left.hosts };
        results.repair(left.hosts_len, left.runs_len).map_err(io)?;
        Ok(results)
    }

    /// Takes off what a kill has torn.
    fn repair(&mut self, hosts_len: usize, runs_len: usize) -> io::Result<()> {
        if let Some(runs) = &mut self.runs {
            runs.set_len(runs_len as u64)?;
            if runs_len == 0 {
                runs.write_all(&journal::header::<RunRow>())?;
            }
        }
        if let Some(hosts) = &mut self.hosts {
            hosts.set_len(hosts_len as u64)?;
            if hosts_len == 0 {
                hosts.write_all(&journal::header::<HostRow>())?;
            }
        }
        Ok(())
    }

    /// The hosts that are done.
    pub(super) fn done(&self) -> &[HostRow] {
        &self.done
    }

    /// Adds a host. Its runs are written first: the row of the host shows that they are complete.
    pub(super) fn add(&mut self, row: HostRow, runs: &[RunRow]) -> io::Result<()> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("results: {error}"));
        if let (Some(hosts_csv), Some(runs_csv)) = (&mut self.hosts, &mut self.runs) {
            runs_csv.write_all(&journal::rows(runs)).map_err(named)?;
            hosts_csv.write_all(&journal::rows(std::slice::from_ref(&row))).map_err(named)?;
        }
        self.done.push(row);
        Ok(())
    }
}

fn refuse(out: &Path, why: &str) -> Failure {
    Failure::Input(format!("--out {}: {why}", out.display()))
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn lock(file: File) -> io::Result<File> {
    file.try_lock().map_err(|_| io::Error::other("another survey is writing into it"))?;
    Ok(file)
}
