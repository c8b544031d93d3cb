//! The arguments, declared once: parsing, help, completions and man pages derive from them. Each
//! tool declares its own in `cmd/<tool>/args`.

use crate::cmd::cc::args::{CC_HELP, Cc};
use crate::cmd::doctor::args::{DOCTOR_HELP, Doctor};
#[cfg(feature = "drill")]
use crate::cmd::drill::args::{DRILL_HELP, Drill};
use crate::cmd::ecn_proxy::args::{ECN_PROXY_HELP, EcnProxy};
#[cfg(feature = "judge")]
use crate::cmd::judge::args::{JUDGE_HELP, Judge};
#[cfg(feature = "link")]
use crate::cmd::link::args::Link;
use crate::cmd::new::args::New;
#[cfg(feature = "probe")]
use crate::cmd::probe::args::{PROBE_HELP, Probe};
use crate::cmd::sim::args::Sim;
use crate::cmd::split_ack::args::{SPLIT_ACK_HELP, SplitAck};
#[cfg(feature = "tou")]
use crate::cmd::tou::args::{TOU_HELP, Tou};
use crate::failure::EXIT_CODES;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;
use windlass_base::suggest::nearest;

/// The version that `--version` prints. `scripts/build-release` names the commit in WINDLASS_COMMIT. No
/// other build does: each commit would compile this crate again.
static VERSION: LazyLock<String> = LazyLock::new(|| version(option_env!("WINDLASS_COMMIT")));

/// The version of this crate, with the commit in brackets if there is one: `0.3.0 (1f9e5b3c7a20)`.
fn version(commit: Option<&str>) -> String {
    let number = env!("CARGO_PKG_VERSION");
    match commit {
        None | Some("") => number.to_owned(),
        Some(commit) => format!("{number} ({commit})"),
    }
}

/// Tools around TCP's congestion window.
#[derive(Debug, Parser)]
#[command(name = "windlass", version = VERSION.as_str(), after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate TCP over networks of links and queues
    #[command(subcommand)]
    Sim(Sim),
    /// Judge a congestion controller by the clauses of RFCs and drafts
    #[cfg(feature = "judge")]
    #[command(after_help = JUDGE_HELP)]
    Judge(Box<Judge>),
    /// Run packetdrill's scripts against Windlass's engine, a Linux kernel or another TCP
    #[cfg(feature = "drill")]
    #[command(after_help = DRILL_HELP)]
    Drill(Box<Drill>),
    /// Put real packets on an emulated link: rate, queue, delay, loss
    #[cfg(feature = "link")]
    Link(Box<Link>),
    /// Put New-ECN into the Linux kernel, look at it, take it away
    #[command(subcommand, after_help = CC_HELP)]
    Cc(Cc),
    /// Give every TCP connection through a router ECN, with no change on any host
    #[command(subcommand, after_help = ECN_PROXY_HELP)]
    EcnProxy(EcnProxy),
    /// Show from outside how a server's slow start reacts to split ACKs, and its initial window
    #[cfg(feature = "probe")]
    #[command(after_help = PROBE_HELP)]
    Probe(Box<Probe>),
    /// Run a program with its own connections' ACKs split, and count what comes in for it
    #[command(after_help = SPLIT_ACK_HELP)]
    SplitAck(SplitAck),
    /// TCP's byte stream over UDP: listen, connect, measure
    #[cfg(feature = "tou")]
    #[command(subcommand, after_help = TOU_HELP)]
    Tou(Tou),
    /// Write a crate with a controller, a queue or a middlebox of your own, which builds into this command
    #[command(subcommand)]
    New(New),
    /// Say what this machine lacks for which tool, and how to get it
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
    /// Print a shell's completion script
    #[command(after_help = "Example: windlass completions bash > \
        ~/.local/share/bash-completion/completions/windlass")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a man page, or write those of all commands
    #[command(after_help = "Examples:\n  windlass man sim run | man -l -\n  windlass man --out \
        ~/.local/share/man/man1")]
    Man {
        /// The command whose page to print [default: windlass itself]
        #[arg(conflicts_with = "out")]
        command: Vec<String>,
        /// Write a page for each command into this folder, which is made if need be
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Parses the command line. A mistake ends the process with status 2 and a suggestion; help and version
/// end it with status 0.
pub(crate) fn parse() -> Cli {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    Cli::try_parse_from(&arguments).unwrap_or_else(|mut error| {
        suggest_command(&mut error, &arguments);
        error.exit()
    })
}

/// Adds the command that an unknown word may mean, where clap finds none: it does not see two letters
/// that have changed places in a short word.
fn suggest_command(error: &mut clap::Error, arguments: &[OsString]) {
    let unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return,
    };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let mut command = Cli::command();
    for word in arguments.iter().skip(1).take_while(|word| ***word != *unknown) {
        if let Some(found) = word.to_str().and_then(|word| command.find_subcommand(word)) {
            command = found.clone();
        }
    }
    let names = command.get_subcommands().filter(|known| !known.is_hide_set());
    if let Some(near) = nearest(&unknown, names.map(clap::Command::get_name)) {
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = env!("CARGO_PKG_VERSION");

    #[test]
    fn a_release_names_its_commit() {
        assert_eq!(version(Some("1f9e5b3c7a20")), format!("{NUMBER} (1f9e5b3c7a20)"));
    }

    #[test]
    fn a_build_without_a_commit_has_the_version_alone() {
        for commit in [None, Some("")] {
            assert_eq!(version(commit), NUMBER);
        }
    }

    #[test]
    fn the_version_begins_with_the_name_of_the_command() {
        let expected = format!("windlass {}\n", version(option_env!("WINDLASS_COMMIT")));
        assert_eq!(Cli::command().render_version(), expected);
    }
}
