//! `windlass probe` on another system than Linux.

use super::args::Probe;
use crate::failure::Failure;
use std::process::ExitCode;

/// Fails, as the probe needs Linux.
pub(crate) fn main(_: Probe) -> Result<ExitCode, Failure> {
    Err(Failure::Work("probe: packet sockets as used here are a part of Linux".into()))
}
