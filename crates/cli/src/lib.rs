//! The `windlass` command as a library: [`main_with`] is the whole command with your own congestion
//! controllers, queue disciplines and middleboxes in it. `windlass new controller NAME` writes a crate
//! that calls it.
//!
//! ```no_run
//! use windlass_cli::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     windlass_cli::main_with(Registry::default())
//! }
//! ```
//!
//! It is a thin layer: it parses arguments, calls the libraries and prints.

#![cfg_attr(
    not(all(feature = "probe", feature = "tou")),
    expect(dead_code, unused_imports, reason = "some helpers are of commands that are left out")
)]

mod args;
mod cmd;
mod envelope;
mod failure;
mod interrupt;
mod live;
#[cfg(target_os = "linux")]
mod machine;
mod output_dir;
mod output_file;
mod parallel;
#[cfg(target_os = "linux")]
mod progress;
mod progress_bar;
mod reference;
mod registry;
mod scaled;
mod stacks_program;
mod stdout;
mod value;

use args::Command;
#[cfg(feature = "drill")]
use cmd::drill;
#[cfg(feature = "judge")]
use cmd::judge;
#[cfg(feature = "link")]
use cmd::link;
#[cfg(feature = "probe")]
use cmd::probe;
#[cfg(feature = "tou")]
use cmd::tou;
use cmd::{cc, doctor, ecn_proxy, new, sim, split_ack};
use failure::Failure;
use std::process::ExitCode;
pub use windlass_scenario::Registry;

/// Runs the command line of this process, and returns its exit status. Scenarios and options may name
/// the kinds of `registry`: in `sim run`, `batch`, `check`, `schema` and `chaos`, `judge`, `link`,
/// `tou` and `probe serve`.
pub fn main_with(registry: Registry) -> ExitCode {
    registry::set(registry);
    #[cfg(all(feature = "namespace", target_os = "linux"))]
    if let Some(code) = windlass_namespace::guard_main() {
        return code;
    }
    #[cfg(all(feature = "tou", target_os = "linux"))]
    if let Some(code) = windlass_capture::child_main() {
        return code;
    }
    let child = doctor::child().map(|result| result.map(|()| ExitCode::SUCCESS));
    let result = child.unwrap_or_else(|| run(args::parse().command));
    interrupt::give_way();
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Sim(args) => sim::main(args),
        #[cfg(feature = "link")]
        // The exit status of a command behind the link is the link's.
        Command::Link(args) => return link::main(*args),
        #[cfg(feature = "judge")]
        // The exit status says whether a case failed.
        Command::Judge(args) => return judge::main(&args),
        #[cfg(feature = "drill")]
        // The exit status says whether a script failed.
        Command::Drill(args) => return drill::main(&args),
        Command::Cc(command) => cc::main(command),
        Command::EcnProxy(command) => ecn_proxy::main(command),
        #[cfg(feature = "probe")]
        // The exit status says whether the reaction is decided.
        Command::Probe(args) => return probe::main(*args),
        // The exit status is that of the program that it runs.
        Command::SplitAck(args) => return split_ack::main(&args),
        #[cfg(feature = "tou")]
        Command::Tou(command) => return tou::main(command),
        Command::New(command) => new::main(&command),
        Command::Doctor(args) => doctor::main(&args),
        Command::Completions { shell } => reference::completions(shell),
        Command::Man { out: Some(folder), .. } => reference::man_pages(&folder),
        Command::Man { command, out: None } => reference::man(&command),
    }
    .map(|()| ExitCode::SUCCESS)
}
