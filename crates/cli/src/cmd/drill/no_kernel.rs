//! Scripts run on kernels on Linux alone, with the feature `kernel`.

use super::args::Drill;
use crate::failure::Failure;
use std::path::Path;
use std::process::ExitCode;
use windlass_drill::Subject;

/// No kernel.
#[derive(Debug)]
pub(super) enum Running {}

fn absent() -> Failure {
    Failure::Input("--kernel: Windlass runs scripts on kernels on Linux, in builds with Cargo's feature kernel".to_owned())
}

impl Running {
    pub(super) fn find() -> Result<Running, Failure> {
        Err(absent())
    }

    pub(super) fn name(&self) -> String {
        match *self {}
    }

    pub(super) fn subject(&self, _: &Path) -> Box<dyn Subject> {
        match *self {}
    }
}

pub(super) fn in_machine(_: &Drill, _: &str) -> Result<ExitCode, Failure> {
    Err(absent())
}
