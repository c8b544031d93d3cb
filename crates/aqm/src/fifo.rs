//! The waiting packets of a discipline, in order of arrival.

use crate::{DropReason, Limit, Packet, Stats};
use alloc::collections::VecDeque;

/// How a queue signals congestion to a packet that it chose at random.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EarlyAction {
    /// Drop it.
    Drop,
    /// Set CE if the packet is ECN-capable, else drop it (RFC 3168 §5).
    Mark,
}

/// Packets in order of arrival, and the sum of their bytes. It allocates only while it grows.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    packets: VecDeque<P>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    /// Creates an empty FIFO.
    pub fn new() -> Fifo<P> {
        Fifo { packets: VecDeque::new(), bytes: 0 }
    }

    /// Number of packets that wait.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Number of bytes that wait, headers included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if a packet of `size` bytes fits under the limit.
    pub fn has_room(&self, limit: Limit, size: u32) -> bool {
        limit.has_room(self.packets.len(), self.bytes, size)
    }

    /// Appends a packet.
    pub fn push(&mut self, packet: P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back(packet);
    }

    /// Appends a packet, after it was chosen for `action` if there is one; or counts it as lost.
    pub(crate) fn admit(
        &mut self,
        mut packet: P,
        limit: Limit,
        action: Option<EarlyAction>,
        stats: &mut Stats,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        if !self.has_room(limit, packet.wire_bytes()) {
            stats.lose(packet, DropReason::Full, dropped);
            return;
        }
        let passes = match action {
            None => true,
            Some(EarlyAction::Mark) => stats.try_mark(&mut packet),
            Some(EarlyAction::Drop) => false,
        };
        if passes {
            self.push(packet);
        } else {
            stats.lose(packet, DropReason::Early, dropped);
        }
    }

    /// The packet that has waited longest.
    pub fn front(&self) -> Option<&P> {
        self.packets.front()
    }

    /// Takes the packet that has waited longest.
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some(packet)
    }
}

impl<P: Packet> Default for Fifo<P> {
    fn default() -> Fifo<P> {
        Fifo::new()
    }
}
