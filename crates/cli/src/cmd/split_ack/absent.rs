//! `windlass split-ack` where it was not built: another system than Linux, or without the feature.

use super::args::SplitAck;
use crate::failure::Failure;
use std::process::ExitCode;

pub(crate) fn main(_args: &SplitAck) -> Result<ExitCode, Failure> {
    Err(Failure::Work(
        "this windlass was built without `windlass split-ack` (Linux, and the cargo feature \
         split-ack)"
            .into(),
    ))
}
