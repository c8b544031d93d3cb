//! Kernels: the one that runs, and others in an emulated machine.

use super::args::Judge;
use super::built::{files, repeated};
use crate::failure::Failure;
use crate::machine::{Machine, folders};
use std::process::ExitCode;
use windlass_judge::Kernel;
use windlass_namespace::acquire_privilege;

/// The kernel that runs, with this controller.
pub(super) fn running(controller: &str) -> Result<Kernel, Failure> {
    let failure = |error: std::io::Error| Failure::Input(format!("--kernel {controller}: {error}"));
    acquire_privilege().map_err(failure)?;
    Kernel::new(controller).map_err(failure)
}

/// Judges in an emulated machine with another kernel; returns the exit status.
pub(super) fn in_machine(
    args: &Judge,
    version: &str,
    controller: &str,
) -> Result<ExitCode, Failure> {
    let replay_as = format!("{version}:{controller}");
    // One case at a time: the machine has one processor.
    let words = ["judge", "--kernel", controller, "--jobs", "1", "--replay-as", &replay_as];
    let machine = Machine {
        named: &format!("--kernel {replay_as}"),
        version,
        modules: &format!("tun tcp_diag tcp_{controller}"),
        written: folders(files(args))?,
        arguments: words.into_iter().map(Into::into).chain(repeated(args)).collect(),
    };
    machine.run()
}
