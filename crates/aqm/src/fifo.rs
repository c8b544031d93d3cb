use crate::{Limit, Packet};
use alloc::collections::VecDeque;

/// Packets in order of arrival, and their bytes. Once warm it allocates nothing.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    packets: VecDeque<P>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    /// Without packets.
    pub fn new() -> Fifo<P> {
        Fifo { packets: VecDeque::new(), bytes: 0 }
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes that wait, on the wire.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if a packet of `size` bytes fits under the limit.
    pub fn has_room(&self, limit: Limit, size: u32) -> bool {
        match limit {
            Limit::Packets(most) => self.packets.len() < most as usize,
            Limit::Bytes(most) => self.bytes + u64::from(size) <= most,
        }
    }

    /// Takes a packet to the end.
    pub fn push(&mut self, packet: P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back(packet);
    }

    /// Gives the packet that has waited longest.
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
