//! Kernels: the one that runs, and others in an emulated machine.

use super::args::Drill;
use crate::failure::Failure;
use crate::machine::{Machine, folders};
use std::path::Path;
use std::process::ExitCode;
use windlass_drill::{Kernel, Subject};
use windlass_namespace::acquire_privilege;

/// The kernel that runs.
#[derive(Debug)]
pub(super) struct Running(Kernel);

impl Running {
    pub(super) fn find() -> Result<Running, Failure> {
        let failure = |error: std::io::Error| Failure::Input(format!("--kernel: {error}"));
        acquire_privilege().map_err(failure)?;
        Kernel::new(Path::new(".")).map(Running).map_err(failure)
    }

    pub(super) fn name(&self) -> String {
        self.0.name()
    }

    /// The subject of a script, whose commands run in its folder.
    pub(super) fn subject(&self, script: &Path) -> Box<dyn Subject> {
        let folder = script.parent().filter(|folder| !folder.as_os_str().is_empty());
        Box::new(self.0.in_folder(folder.unwrap_or(Path::new("."))))
    }
}

/// Runs the scripts in an emulated machine with another kernel; returns the exit status.
pub(super) fn in_machine(args: &Drill, version: &str) -> Result<ExitCode, Failure> {
    // The option that has an optional value comes before another option, not before a script.
    let words = ["drill", "--kernel", "--jobs", "1"];
    let machine = Machine {
        named: &format!("--kernel {version}"),
        version,
        modules: "tun",
        written: folders(args.files())?,
        arguments: words.into_iter().map(Into::into).chain(args.repeated()).collect(),
    };
    machine.run()
}
