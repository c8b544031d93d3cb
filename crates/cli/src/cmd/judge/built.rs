//! A crate of `windlass new`: cargo builds its command, which judges.

use super::args::Judge;
use crate::failure::Failure;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::{Command, ExitCode};

/// A crate whose command is `windlass` with a controller of its own.
#[derive(Debug)]
pub(super) struct Crate {
    folder: PathBuf,
    /// Its controller, where the crate adds several.
    controller: Option<String>,
    /// As the user named it.
    text: String,
}

impl Crate {
    /// The crate of that folder; `None` if the text is no path. The command of a crate looks for none: a folder of the
    /// controller's name is the crate itself, which would run itself without end.
    pub(super) fn find(text: &str, args: &Judge) -> Result<Option<Crate>, Failure> {
        if args.replay_as.is_some() {
            return Ok(None);
        }
        let (folder, controller) = match text.rsplit_once(':') {
            Some((folder, name)) if is_path(folder) => (folder, Some(name.to_owned())),
            _ if is_path(text) => (text, None),
            _ => return Ok(None),
        };
        if !Path::new(folder).join("Cargo.toml").is_file() {
            let message = format!(
                "{folder}: expected a folder with a Cargo.toml, as `windlass new controller NAME` writes it"
            );
            return Err(Failure::Input(message));
        }
        Ok(Some(Crate { folder: folder.into(), controller, text: text.to_owned() }))
    }

    /// Builds the command and judges; returns its exit status.
    pub(super) fn judge(&self, args: &Judge) -> Result<ExitCode, Failure> {
        let mut cargo = Command::new("cargo");
        cargo.args(["run", "--release", "--quiet", "--manifest-path"]);
        cargo.arg(self.folder.join("Cargo.toml")).args(["--", "judge"]).args(&self.controller);
        cargo.args(["--replay-as", &self.text, "--profile", args.profile.name()]);
        cargo.args(repeated(args)).args(jobs(args));
        let folder = self.folder.display();
        let status = cargo.status().map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::Input(format!(
                "{folder}: cargo, which builds the crate, is not installed: https://rustup.rs"
            )),
            _ => Failure::io(format!("{folder}: cargo"), &error),
        })?;
        match status.code() {
            Some(code @ (0..=2 | 130)) => Ok(ExitCode::from(code as u8)),
            _ => Err(Failure::Input(format!("{folder}: cargo built no command that judges"))),
        }
    }
}

fn jobs(args: &Judge) -> Option<String> {
    args.jobs.map(|jobs| format!("--jobs={jobs}"))
}

/// The options of a judgement as the user gave them.
pub(super) fn repeated(args: &Judge) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut with = |option: &str, value: &OsStr| {
        words.extend([option.into(), value.to_owned()]);
    };
    args.suites.iter().for_each(|suite| with("--suite", suite.name.as_ref()));
    args.case.iter().for_each(|glob| with("--case", glob.as_ref()));
    for (option, path) in files(args) {
        with(option, path.as_ref());
    }
    for (option, is_set) in
        [("--list", args.list), ("--coverage", args.coverage), ("--json", args.json)]
    {
        words.extend(is_set.then(|| option.into()));
    }
    words.extend(args.bcp.words());
    words
}

/// The files and directories that the arguments ask for, by option.
pub(super) fn files(args: &Judge) -> impl Iterator<Item = (&'static str, &Path)> {
    let all = [
        ("--junit", &args.junit),
        ("--qlog", &args.qlog),
        ("--pcap", &args.pcap),
        ("--page", &args.page),
    ];
    all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)))
}

/// Whether a text can only be the path of a folder.
fn is_path(text: &str) -> bool {
    text.contains(MAIN_SEPARATOR) || Path::new(text).join("Cargo.toml").is_file()
}
