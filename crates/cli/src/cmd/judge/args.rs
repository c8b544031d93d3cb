//! The arguments of `windlass judge`.

use super::bcp::args::Bcp;
use crate::value::{Named, parse_profile, profile_names};
use clap::{Args, ValueHint};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use windlass_judge::suites::{self, SUITES, Suite};
use windlass_tcp::Profile;

pub(crate) const JUDGE_HELP: &str = "\
Examples:
  windlass judge cubic                          # every case that concerns CUBIC
  windlass judge bbr3 --suite bbr --page bbr3.html
  windlass judge path/to/crate                  # the controller of a crate of `windlass new controller`
  windlass judge prague:fast_growth=true        # with settings, as scenarios have them
  windlass judge --kernel bbr                   # this machine's kernel, in real time, as root
  windlass judge --kernel 7.3:cubic             # another, in an emulated machine, from a checkout of Windlass
  windlass judge --stack noq:newreno            # a stack of others, by the program of the folder stacks
  windlass judge newreno --profile rfc5681 --case '*timeout*'
  windlass judge cubic --junit junit.xml --qlog traces
  windlass judge --list --suite bbr             # the cases, and what they demand
  windlass judge --coverage                     # the clauses, and the cases that judge them
  windlass judge --bcp bbr3 --quick             # the criteria of RFC 9743
  windlass judge --bcp reno,cubic,bbr3 --report page.html

A case runs a sender over a simulated path and judges by the packets, and by the sender's variables where it shows \
them. A clause that nothing shows is \"not observable\", which is no failure. The same command prints the same bytes on every \
machine. Only a kernel has a clock of its own: its case takes as long as the connection, and its verdict rests on the \
tolerance of the case. In the emulated machine that clock does not depend on the load of this one.

CONTROLLER is a controller of this command, a folder with a crate that adds one, or FOLDER:NAME if that crate adds \
several. Without CONTROLLER, the command of such a crate judges the one that it adds.

With --bcp the simulator runs the criteria of RFC 9743 in its settings: met, not met, not decided, not testable here, beside Reno and \
CUBIC. That is a report and no gate: the exit status is 0 also with criteria that are not met.

Exit status: 0 no case failed; 1 a case failed, or a failure while working; 2 bad arguments, no such case, or a \
crate that does not build; 130 interrupted.";

#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// A controller, with settings as NAME:KEY=VALUE,..., or the folder of a crate
    #[arg(value_name = "CONTROLLER", value_hint = ValueHint::AnyPath)]
    pub subject: Option<String>,
    /// Judge a controller of the kernel that runs, or of VERSION in an emulated machine
    #[arg(long, value_name = "[VERSION:]CONTROLLER", conflicts_with_all = ["subject", "profile", "bcp"])]
    pub kernel: Option<NamedKernel>,
    /// Judge a stack of others: smoltcp, quinn, noq or s2n, with a controller or its CUBIC. The program windlass-stacks
    /// has them
    #[arg(long, value_name = "STACK[:CONTROLLER]", conflicts_with_all = ["subject", "kernel", "profile", "bcp", "list", "coverage"])]
    pub stack: Option<String>,
    /// Judge by all cases of this suite, whether they concern the controller or not; may be given several times
    /// [default: the cases of all suites that concern it]
    #[arg(long = "suite", value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = Named::new(suite_names, suites::parse))]
    pub suites: Vec<&'static Suite>,
    /// Judge by cases with such a name alone; * and ? stand for other letters
    #[arg(long, value_name = "GLOB")]
    pub case: Option<String>,
    /// The options of the sender beside those that a case asks for
    #[arg(long, default_value = "linux", value_name = "NAME")]
    #[arg(value_parser = Named::new(profile_names, parse_profile))]
    pub profile: Profile,
    /// Cases at a time [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// List the cases and what they demand, and judge nothing
    #[arg(long, conflicts_with_all = ["coverage", "junit", "qlog", "pcap", "page"])]
    pub list: bool,
    /// List the clauses of the suites' documents with the cases that judge them, and judge nothing
    #[arg(long, conflicts_with_all = ["case", "junit", "qlog", "pcap", "page"])]
    pub coverage: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Write the outcomes into this file, as the XML of JUnit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    /// Write the packets of each failed case into this new directory, as qlog
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub qlog: Option<PathBuf>,
    /// Write the packets of each failed case into this new directory, as pcapng
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub pcap: Option<PathBuf>,
    /// Write a page of HTML with a plot of each case into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub page: Option<PathBuf>,
    #[command(flatten)]
    pub bcp: Bcp,
    /// The subject in the commands that replay a case: the command of a crate gets the crate's folder
    #[arg(long, value_name = "TEXT", hide = true)]
    pub replay_as: Option<String>,
}

/// A controller of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedKernel {
    /// The kernel, as `7.3`; without it the one that runs.
    pub version: Option<String>,
    pub controller: String,
}

impl FromStr for NamedKernel {
    type Err = String;

    fn from_str(text: &str) -> Result<NamedKernel, String> {
        let (version, controller) = match text.split_once(':') {
            Some((version, controller)) => (Some(version), controller),
            None => (None, text),
        };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        let is_version = |text: &str| text.contains('.') && text.split('.').all(is_number);
        let is_name = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
        if !version.is_none_or(is_version)
            || controller.is_empty()
            || !controller.bytes().all(is_name)
        {
            return Err(
                "expected a controller, as cubic, or 7.3:cubic of another kernel".to_owned()
            );
        }
        Ok(NamedKernel { version: version.map(str::to_owned), controller: controller.to_owned() })
    }
}

impl fmt::Display for NamedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.version.iter().try_for_each(|version| write!(f, "{version}:"))?;
        f.write_str(&self.controller)
    }
}

fn suite_names() -> Vec<&'static str> {
    SUITES.iter().map(|suite| suite.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_by_its_controller_or_with_a_version() {
        let parsed = |text: &str| text.parse::<NamedKernel>();
        let cubic = NamedKernel { version: Some("7.3".into()), controller: "cubic".into() };
        assert_eq!(parsed("7.3:cubic"), Ok(cubic.clone()));
        assert_eq!(cubic.to_string(), "7.3:cubic");
        assert_eq!(parsed("bbr").map(|kernel| kernel.to_string()), Ok("bbr".to_owned()));
        for bad in ["", "7.3:", ":cubic", "7:cubic", "7.x:cubic", "cubic reno", "6.1:7.3:cubic"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
