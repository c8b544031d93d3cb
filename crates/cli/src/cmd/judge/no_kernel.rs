//! Kernels are judged on Linux alone, with the feature `kernel`.

use super::args::Judge;
use crate::failure::Failure;
use std::process::ExitCode;
use windlass_judge::Engine;

fn absent() -> Failure {
    Failure::Input(
        "--kernel: Windlass judges kernels on Linux, in builds with Cargo's feature kernel"
            .to_owned(),
    )
}

pub(super) fn running(_: &str) -> Result<Engine, Failure> {
    Err(absent())
}

pub(super) fn in_machine(_: &Judge, _: &str, _: &str) -> Result<ExitCode, Failure> {
    Err(absent())
}
