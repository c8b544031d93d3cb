//! Chooses the form of `windlass link` by its arguments.

use super::args::{Link, LinkCommand};
use super::file;
#[cfg(target_os = "linux")]
use super::{nested, ports};
use crate::failure::Failure;
use crate::stdout;
use std::process::ExitCode;

/// Runs `windlass link` or its subcommand; returns the exit status.
pub(crate) fn main(args: Link) -> Result<ExitCode, Failure> {
    if let Some(LinkCommand::Schema) = args.command {
        return stdout::line(&format!("{:#}", file::schema())).map(|()| ExitCode::SUCCESS);
    }
    run(args)
}

#[cfg(target_os = "linux")]
fn run(args: Link) -> Result<ExitCode, Failure> {
    match &args.command {
        Some(LinkCommand::Run(run)) => ports::run_file(run),
        Some(LinkCommand::Schema) => Ok(ExitCode::SUCCESS),
        None if !args.port.is_empty() => ports::run_two(&args),
        None if args.command_line.is_empty() => Err(Failure::Input(
            "expected -- COMMAND, or --port twice, or run FILE; see windlass link --help".into(),
        )),
        None => nested::main(args),
    }
}

/// Fails, as the link emulator needs Linux.
#[cfg(not(target_os = "linux"))]
fn run(_: Link) -> Result<ExitCode, Failure> {
    Err(Failure::Work("link: TUN devices and namespaces as used here are a part of Linux".into()))
}
