//! The controllers, queues and middleboxes that a crate adds through [`main_with`](crate::main_with).

use std::sync::{Arc, OnceLock};
use windlass_base::suggest::did_you_mean;
use windlass_scenario::Registry;
use windlass_tcp::cc::{self, ControllerFactory};

static REGISTRY: OnceLock<Registry> = OnceLock::new();

/// Sets the registry of this process, once. [`main_with`](crate::main_with) calls it first.
pub(crate) fn set(registry: Registry) {
    let _ = REGISTRY.set(registry);
}

/// The registry of this process.
pub(crate) fn registry() -> &'static Registry {
    REGISTRY.get_or_init(Registry::default)
}

/// The names of all controllers.
pub(crate) fn controller_names() -> Vec<&'static str> {
    // A registered name that equals a built-in one is ignored, as in `controller`.
    let own = registry().controller_names().into_iter();
    cc::NAMES.into_iter().chain(own.filter(|name| !cc::NAMES.contains(name))).collect()
}

/// The name, if [`controller`] finds it.
///
/// # Errors
///
/// As [`controller`].
pub(crate) fn known_controller(name: &str) -> Result<String, String> {
    controller(name).map(|_| name.to_owned())
}

/// The controller of that name with its default settings.
///
/// # Errors
///
/// No controller has this name, or it has no default settings.
pub(crate) fn controller(name: &str) -> Result<Arc<dyn ControllerFactory>, String> {
    if let Some(known) = cc::by_name(name) {
        return Ok(known);
    }
    registry().controller_by_name(name).unwrap_or_else(|| {
        let names = controller_names();
        Err(format!("expected one of {}{}", names.join(", "), did_you_mean(name, &names)))
    })
}
