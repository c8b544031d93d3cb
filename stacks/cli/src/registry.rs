//! The transports by the names that scenario files use.

use windlass_scenario::Registry;
use windlass_stacks_noq::Noq;
use windlass_stacks_quinn::Quinn;
use windlass_stacks_smoltcp::Smoltcp;

/// Every transport of this workspace.
pub fn registry() -> Registry {
    Registry::default()
        .endpoint::<Quinn>("quinn")
        .endpoint::<Noq>("noq")
        .endpoint::<Smoltcp>("smoltcp")
}
