//! `windlass cc` where it was not built: another system than Linux, or without the feature.

use super::args::Cc;
use crate::failure::Failure;

pub(crate) fn main(_command: Cc) -> Result<(), Failure> {
    Err(Failure::Work(
        "this windlass was built without `windlass cc` (Linux, and the cargo feature kernel-cc)"
            .into(),
    ))
}
