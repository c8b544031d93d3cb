//! A packet as queues hold it.

use crate::packet::{InFlight, Slot};
use windlass_aqm::Packet;
use windlass_base::{Ecn, Time};

/// The properties of a packet that a queue needs; the packet itself stays in its slot.
#[derive(Copy, Clone, Debug)]
pub(crate) struct QueuedPacket {
    pub(super) slot: Slot,
    pub(super) wire_bytes: u32,
    pub(super) ecn: Ecn,
    /// When it arrived at the queue.
    pub(super) arrived: Time,
    endpoint: u32,
}

impl QueuedPacket {
    pub(super) fn new(slot: Slot, packet: &InFlight, arrived: Time) -> QueuedPacket {
        let InFlight { wire_bytes, to, ref run, .. } = *packet;
        QueuedPacket { slot, wire_bytes, ecn: run.ecn, arrived, endpoint: to.endpoint() }
    }
}

impl Packet for QueuedPacket {
    fn wire_bytes(&self) -> u32 {
        self.wire_bytes
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_hash(&self) -> u64 {
        u64::from(self.endpoint)
    }
}
