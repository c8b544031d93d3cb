//! The arguments of `windlass drill`.

use clap::{Args, ValueHint};
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use windlass_base::Span;
use windlass_drill::{Choice, IpVersion};

/// The subject that this command has itself.
pub(super) const ENGINE: &str = "engine";

pub(crate) const DRILL_HELP: &str = "\
Examples:
  windlass drill script.pkt                     # Windlass's engine, in virtual time
  windlass drill crates/drill/scripts           # every *.pkt of a folder and of those in it
  windlass drill script.pkt --kernel            # this machine's kernel, in real time, as root
  windlass drill script.pkt --kernel 7.3        # another, in an emulated machine, from a checkout of Windlass
  windlass drill scripts --json > drill.json
  windlass drill scripts --junit junit.xml
  windlass drill script.pkt --capture drill.pcapng --qlog drill.sqlog
  windlass drill script.pkt -D COOKIE=3021b9d889017eeb --tolerance-usecs 10000
  windlass drill script.pkt --ip-version ipv6

A script is one of packetdrill: it sends packets to a TCP, expects packets of it, makes its program's system calls, and \
asserts what its tcp_info says, each at a time. The first thing that is not as the script says is shown with both sides, and the \
packets around it. A script that needs something that the subject lacks is skipped, which is no failure.

The engine runs in virtual time: the same command prints the same bytes on every machine. So does a kernel in the \
emulated machine, whose clock does not depend on the load of this one. The kernel that runs has its own clock: it takes as long as the \
script, and a loaded machine may be late.

Exit status: 0 no script failed; 1 a script failed, or a failure while working; 2 bad arguments, or a file that is no \
script; 130 interrupted.";

#[derive(Debug, Args)]
pub(crate) struct Drill {
    /// Scripts of packetdrill, or folders whose *.pkt are run
    #[arg(value_name = "SCRIPT|DIR", required = true, value_hint = ValueHint::AnyPath)]
    pub scripts: Vec<PathBuf>,
    /// Run them on the kernel that runs, or on VERSION in an emulated machine
    #[arg(long, value_name = "VERSION", num_args = 0..=1, conflicts_with = "subject", value_parser = kernel_version)]
    pub kernel: Option<Option<String>>,
    /// Run them on this TCP: engine, or one that the program windlass-stacks has
    #[arg(long, value_name = "NAME", default_value = ENGINE)]
    pub subject: String,
    /// The version of IP of scripts that name none: ipv4, ipv6, or ipv4-mapped-ipv6
    #[arg(long, value_name = "VERSION", default_value = "ipv4")]
    pub ip_version: IpVersion,
    /// How far a time may be off, in microseconds [default: the script's, or 4000]
    #[arg(long, value_name = "N")]
    pub tolerance_usecs: Option<u64>,
    /// Let VALUE stand for NAME in the scripts; may be given several times
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = definition)]
    pub definitions: Vec<(String, String)>,
    /// Scripts at a time [default: as many as there are cores; 1 on a kernel]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Write the verdicts into this file, as the XML of JUnit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Write the packets of one script into this file, as pcapng
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub capture: Option<PathBuf>,
    /// Write the packets of one script into this file, as qlog
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub qlog: Option<PathBuf>,
}

impl Drill {
    /// The choice that these arguments make for scripts.
    pub(super) fn choice(&self) -> Choice {
        Choice {
            ip_version: self.ip_version,
            tolerance: self.tolerance_usecs.map(Span::from_micros),
            definitions: self.definitions.iter().cloned().collect(),
        }
    }

    /// The files that the command writes, by option.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let all = [("--junit", &self.junit), ("--capture", &self.capture), ("--qlog", &self.qlog)];
        all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)))
    }

    /// The arguments again, without those that choose the subject and the jobs.
    pub(super) fn repeated(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut with = |option: &str, value: &OsStr| {
            words.extend([option.into(), value.to_owned()]);
        };
        with("--ip-version", self.ip_version.to_string().as_ref());
        self.tolerance_usecs
            .iter()
            .for_each(|us| with("--tolerance-usecs", us.to_string().as_ref()));
        for (name, value) in &self.definitions {
            with("-D", format!("{name}={value}").as_ref());
        }
        self.files().for_each(|(option, path)| with(option, path.as_ref()));
        words.extend(self.json.then(|| "--json".into()));
        words.extend(["--".into()]);
        words.extend(self.scripts.iter().map(|path| path.clone().into_os_string()));
        words
    }
}

fn kernel_version(text: &str) -> Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    match text.contains('.') && text.split('.').all(is_number) {
        true => Ok(text.to_owned()),
        false => Err("expected a version, as 7.3; without one, --kernel stands behind the scripts"
            .to_owned()),
    }
}

fn definition(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        drill: Drill,
    }

    fn parsed(words: &[&str]) -> Result<Drill, clap::Error> {
        Command::try_parse_from([&["drill"], words].concat()).map(|command| command.drill)
    }

    #[test]
    fn a_kernel_is_the_one_that_runs_or_a_version() {
        let kernel = |words: &[&str]| parsed(words).expect("arguments").kernel;
        assert_eq!(kernel(&["a.pkt"]), None);
        assert_eq!(kernel(&["a.pkt", "--kernel"]), Some(None));
        assert_eq!(kernel(&["a.pkt", "--kernel", "7.3"]), Some(Some("7.3".to_owned())));
        let swallowed = parsed(&["--kernel", "a.pkt", "b.pkt"]).expect_err("no version");
        assert!(swallowed.to_string().contains("behind the scripts"), "{swallowed}");
        assert!(parsed(&["a.pkt", "--kernel", "--subject", "x"]).is_err());
    }

    #[test]
    fn arguments_are_repeated() {
        let words = [
            "--ip-version",
            "ipv6",
            "--tolerance-usecs",
            "7",
            "-D",
            "A=b",
            "--json",
            "--",
            "a.pkt",
        ];
        let drill = parsed(&words).expect("arguments");
        assert_eq!(drill.repeated(), words.map(OsString::from));
        assert!(parsed(&["a.pkt", "-D", "=b"]).is_err());
    }
}
