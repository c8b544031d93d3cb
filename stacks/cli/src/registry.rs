//! The transports by the names that scenario files use.

use windlass_scenario::Registry;

/// Every transport of this workspace.
pub fn registry() -> Registry {
    Registry::default()
}
