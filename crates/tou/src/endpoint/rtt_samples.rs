//! Round-trip times of a connection, where the application wants them.

use super::{ConnectionId, Endpoint, Slot};
use windlass_base::Sketch;

impl<Data> Slot<Data> {
    /// Keeps the RTT sample of the last segment, if it gave one beyond the first `before`.
    pub(super) fn note_rtt(&mut self, before: u64) {
        let connection = self.stream.connection();
        if let Some(samples) = &mut self.rtt_samples
            && connection.rtt_samples() != before
            && let Some(rtt) = connection.last_rtt()
        {
            samples.record(rtt);
        }
    }
}

impl<Data: Default> Endpoint<Data> {
    /// Keeps the RTT samples of a connection from now on, without earlier ones; false if there is no such
    /// connection.
    pub fn keep_rtt_samples(&mut self, id: ConnectionId) -> bool {
        let exists = self.slot(id).is_some();
        if exists {
            self.slots[id.key].rtt_samples = Some(Box::default());
        }
        exists
    }

    /// The RTT samples of a connection, from [`Endpoint::keep_rtt_samples`] on; `None` without that.
    pub fn rtt_samples(&self, id: ConnectionId) -> Option<&Sketch> {
        self.slot(id)?.rtt_samples.as_deref()
    }
}
