//! `windlass ecn-proxy` where it was not built: another system than Linux, or without the feature.

use super::args::EcnProxy;
use crate::failure::Failure;

pub(crate) fn main(_command: EcnProxy) -> Result<(), Failure> {
    Err(Failure::Work(
        "this windlass was built without `windlass ecn-proxy` (Linux, and the cargo feature \
         ecn-proxy)"
            .into(),
    ))
}
