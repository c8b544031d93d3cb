use crate::{Limit, Packet};
use alloc::collections::VecDeque;

/// Packets in order of arrival, and their bytes. Once warm it allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<P>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Fifo<P> {
        Fifo { packets: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if a packet of `size` bytes fits under the limit.
    pub(crate) fn has_room(&self, limit: Limit, size: u32) -> bool {
        match limit {
            Limit::Packets(most) => self.packets.len() < most as usize,
            Limit::Bytes(most) => self.bytes + u64::from(size) <= most,
        }
    }

    pub(crate) fn push(&mut self, packet: P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes());
        Some(packet)
    }
}
