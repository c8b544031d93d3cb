//! The kill switch, and the other settings that change while the programs run. The daemon's main thread
//! holds it in its [`Datapath`](super::Datapath); the threads that answer requests have clones of it.

use super::error::doing;
use super::settings::InForce;
use super::{Error, now_ns};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::sync::{Arc, Mutex, PoisonError};

/// The kill switch of a [`Datapath`](super::Datapath), for any thread. It works at once, even while the
/// `Datapath` sweeps a full table.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    table: Arc<MapHandle>,
    in_force: Arc<Mutex<InForce>>,
}

impl Switch {
    pub(super) fn new(table: MapHandle, in_force: InForce) -> Switch {
        Switch { table: Arc::new(table), in_force: Arc::new(Mutex::new(in_force)) }
    }

    /// Off: the proxy edits no packet from now on, but still tracks connections.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    pub(crate) fn set_enabled(&self, enabled: bool) -> Result<(), Error> {
        self.change(|in_force| in_force.enabled = enabled)
    }

    /// Renews the lease.
    pub(super) fn renew(&self) -> Result<(), Error> {
        self.change(|_| ())
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut InForce)) -> Result<(), Error> {
        let mut in_force = self.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut in_force);
        let value = in_force.to_bytes(now_ns());
        // Under the lock, so that the table ends with the last change.
        self.table.update(&[0; 4], &value, MapFlags::ANY).map_err(doing("writing the settings"))
    }
}
