//! The packets that wait for their early delivery.

use super::link::EarlyPacket;
use std::collections::VecDeque;

/// Packets to deliver early, in order. Nearly always there is one at a time, which has a place of its own.
#[derive(Debug, Default)]
pub(super) struct EarlyPackets {
    next: Option<EarlyPacket>,
    /// Those behind `next`; none without it.
    others: VecDeque<EarlyPacket>,
}

impl EarlyPackets {
    #[inline]
    pub(super) fn push(&mut self, packet: EarlyPacket) {
        if self.next.is_none() {
            self.next = Some(packet);
        } else {
            self.others.push_back(packet);
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<EarlyPacket> {
        let packet = self.next?;
        self.next = None;
        if !self.others.is_empty() {
            self.next = self.others.pop_front();
        }
        Some(packet)
    }
}
