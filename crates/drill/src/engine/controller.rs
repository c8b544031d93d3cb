//! The congestion controllers by Linux's names.

use std::sync::Arc;
use windlass_tcp::Profile;
use windlass_tcp::cc::ControllerFactory;

/// The controller that Linux calls so; `None` if the engine has none of that name.
pub(super) fn controller(name: &str) -> Option<Arc<dyn ControllerFactory>> {
    // Linux's Reno has the partial ACKs of RFC 6582, as the engine's NewReno.
    let name = if name == "reno" { "newreno" } else { name };
    Profile::Linux.controller(name)
}
