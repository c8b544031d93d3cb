//! The data in flight as packets with numbers, as a QUIC stack tells its controller of them.

use std::collections::VecDeque;
use windlass_base::Time;

/// A packet in flight.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Packet<T> {
    pub(crate) number: u64,
    pub(crate) sent: Time,
    pub(crate) bytes: u64,
    /// The controller's state for it.
    pub(crate) info: T,
}

/// The packets in flight, the oldest first.
///
/// The engine reports how many bytes an ACK delivers, not which: the oldest ones count as delivered. Packets of one
/// flight differ little in age, and their sum is exact.
#[derive(Clone, Debug)]
pub(crate) struct Flight<T> {
    packets: VecDeque<Packet<T>>,
    next: u64,
}

impl<T> Default for Flight<T> {
    fn default() -> Flight<T> {
        Flight { packets: VecDeque::new(), next: 0 }
    }
}

impl<T: Copy> Flight<T> {
    /// The number of the packet that is sent next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn push(&mut self, sent: Time, bytes: u64, info: T) {
        self.packets.push_back(Packet { number: self.next, sent, bytes, info });
        self.next += 1;
    }

    /// Takes so many bytes off, the oldest first, as packets or parts of them.
    pub(crate) fn deliver(&mut self, mut bytes: u64) -> Vec<Packet<T>> {
        let mut delivered = Vec::new();
        while let Some(first) = self.packets.front_mut().filter(|_| bytes > 0) {
            let part = first.bytes.min(bytes);
            delivered.push(Packet { bytes: part, ..*first });
            bytes -= part;
            first.bytes -= part;
            if first.bytes == 0 {
                self.packets.pop_front();
            }
        }
        delivered
    }

    /// Takes so many bytes off that were sent then, or the oldest ones where none was.
    pub(crate) fn lose(&mut self, sent: Time, mut bytes: u64) -> Vec<Packet<T>> {
        let mut lost = Vec::new();
        while bytes > 0 {
            let at = self.packets.iter().position(|packet| packet.sent == sent).unwrap_or(0);
            let Some(packet) = self.packets.get_mut(at) else { break };
            let part = packet.bytes.min(bytes);
            lost.push(Packet { bytes: part, ..*packet });
            bytes -= part;
            packet.bytes -= part;
            if packet.bytes == 0 {
                self.packets.remove(at);
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_oldest_are_delivered_and_those_of_a_time_are_lost() {
        let mut flight = Flight::default();
        flight.push(at(1), 1000, ());
        flight.push(at(2), 1000, ());
        flight.push(at(2), 500, ());
        let parts: Vec<(u64, u64)> =
            flight.deliver(400).iter().map(|packet| (packet.number, packet.bytes)).collect();
        assert_eq!(parts, [(0, 400)]);
        let lost: u64 = flight.lose(at(2), 1500).iter().map(|packet| packet.bytes).sum();
        assert_eq!(lost, 1500);
        assert_eq!(flight.deliver(10_000).len(), 1, "the rest of the first");
        assert!(flight.lose(at(2), 10).is_empty());
    }
}
