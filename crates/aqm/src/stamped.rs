//! A packet with its arrival time, for CoDel, FQ-CoDel, PIE and DualPI2.

use crate::Packet;
use windlass_base::{Ecn, Time};

/// A packet and its arrival time, for disciplines that measure the sojourn time.
#[derive(Clone, Debug)]
pub(crate) struct Stamped<P> {
    pub(crate) packet: P,
    pub(crate) arrived: Time,
}

impl<P: Packet> Packet for Stamped<P> {
    fn wire_bytes(&self) -> u32 {
        self.packet.wire_bytes()
    }

    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.packet.set_ecn(ecn);
    }

    fn flow_hash(&self) -> u64 {
        self.packet.flow_hash()
    }
}
