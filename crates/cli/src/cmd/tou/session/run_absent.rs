//! `windlass tou run` where there are no network namespaces.

use super::args::TouRun;
use crate::failure::Failure;
use std::process::ExitCode;

pub(crate) fn run(_: &TouRun) -> Result<ExitCode, Failure> {
    Err(Failure::Work("tou run needs Linux's network namespaces".to_owned()))
}
