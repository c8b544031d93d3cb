//! Counters of a queue, and the reasons for its drops.

use crate::Packet;
use windlass_base::Ecn;

/// Why a queue dropped a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The queue was at its limit.
    Full,
    /// The queue chose the packet at random, to signal congestion: on arrival (RED and PIE) or when its turn came
    /// (DualPI2).
    Early,
    /// RED's average was above its upper threshold.
    AboveMax,
    /// The packet had waited too long by the time of its dequeue (CoDel).
    Sojourn,
}

/// Counters of a queue since it was created. At any time
/// `offered == dequeued + dropped() + packets in the queue`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets given to the queue, kept or not.
    pub offered: u64,
    /// Bytes of the packets given to the queue.
    pub offered_bytes: u64,
    /// Packets handed to the link.
    pub dequeued: u64,
    /// Bytes of the packets handed to the link.
    pub dequeued_bytes: u64,
    /// Packets changed from ECT to CE by this queue.
    pub marked: u64,
    /// Packets chosen to be marked that carried CE already: not in `marked`.
    pub already_ce: u64,
    /// Packets dropped as [`DropReason::Full`].
    pub dropped_full: u64,
    /// Packets dropped as [`DropReason::Early`].
    pub dropped_early: u64,
    /// Packets dropped as [`DropReason::AboveMax`].
    pub dropped_above_max: u64,
    /// Packets dropped as [`DropReason::Sojourn`].
    pub dropped_sojourn: u64,
}

impl Stats {
    /// Packets dropped, for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_full + self.dropped_early + self.dropped_above_max + self.dropped_sojourn
    }

    /// Counts an arriving packet. A discipline calls it before anything else.
    pub fn offer(&mut self, packet: &impl Packet) {
        self.offered += 1;
        self.offered_bytes += u64::from(packet.wire_bytes());
    }

    /// Counts a packet that the link takes.
    pub fn dequeue(&mut self, packet: &impl Packet) {
        self.dequeued += 1;
        self.dequeued_bytes += u64::from(packet.wire_bytes());
    }

    /// Sets CE if the packet is ECN-capable, and counts the mark. Returns false for a packet that is not
    /// ECN-capable, which the queue can only drop.
    pub fn try_mark(&mut self, packet: &mut impl Packet) -> bool {
        match packet.ecn() {
            Ecn::NotEct => return false,
            Ecn::Ce => self.already_ce += 1,
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.set_ecn(Ecn::Ce);
                self.marked += 1;
            }
        }
        true
    }

    /// Counts a drop and passes the packet to `dropped`.
    pub fn lose<P>(
        &mut self,
        packet: P,
        reason: DropReason,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        match reason {
            DropReason::Full => self.dropped_full += 1,
            DropReason::Early => self.dropped_early += 1,
            DropReason::AboveMax => self.dropped_above_max += 1,
            DropReason::Sojourn => self.dropped_sojourn += 1,
        }
        dropped(packet, reason);
    }
}
