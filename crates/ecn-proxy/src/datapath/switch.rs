use super::error::doing;
use super::settings::InForce;
use super::{Error, now_ns};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::sync::{Arc, Mutex, PoisonError};

/// The kill switch of a [`Datapath`](super::Datapath), for any thread: it waits for nothing that the
/// `Datapath` is busy with, a sweep of a full table for instance.
#[derive(Clone, Debug)]
pub struct Switch {
    table: Arc<MapHandle>,
    in_force: Arc<Mutex<InForce>>,
}

impl Switch {
    pub(super) fn new(table: MapHandle, in_force: InForce) -> Switch {
        Switch { table: Arc::new(table), in_force: Arc::new(Mutex::new(in_force)) }
    }

    /// Off: no packet is changed from now on; connections are still followed.
    ///
    /// # Errors
    ///
    /// The kernel refuses.
    pub fn set_enabled(&self, enabled: bool) -> Result<(), Error> {
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
        // Under the lock, so that the last change is what stands in the table.
        self.table.update(&[0; 4], &value, MapFlags::ANY).map_err(doing("writing the settings"))
    }
}
