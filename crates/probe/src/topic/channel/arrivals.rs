//! The data packets that arrive on a connection: those with new data, and those without.

use windlass_base::{Span, Time};
use windlass_tcp::RangeSet;

/// More packets than any test provokes: 3 segments in 1,024 ACKs each give some 3,100.
const SEGMENTS_MAX: usize = 16_384;

/// A packet with new bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) at: Time,
    /// Offset of its first byte in the server's stream.
    pub(crate) start: u64,
    pub(crate) len: u32,
}

impl Packet {
    pub(crate) fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// The kind of a data packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    New,
    /// It fills a gap. Its delay decides whether it was reordered or retransmitted.
    Late,
    /// Nothing new in it, sent again by the server.
    Repeated,
    /// Nothing new in it, copied by the path.
    Duplicated,
    /// The limit of packets is reached; the packet is not kept.
    TooMany,
}

/// The data of a connection as it arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrivals {
    seen: RangeSet,
    packets: Vec<Packet>,
    pub(crate) retransmissions: u32,
    pub(crate) reordered: u32,
    /// Copies that came too soon after their packets to be the server's.
    pub(crate) duplicated: u32,
    /// Packets beyond the receive window.
    pub(crate) beyond_window: u32,
    /// Packets with a wrong checksum or malformed options.
    pub(crate) damaged: u32,
    last_new: Option<Time>,
    /// The time at which the newest gap appeared.
    gap_since: Option<Time>,
}

impl Arrivals {
    /// Takes a data packet. A packet that fills a gap within `reordering` counts as reordered, a later
    /// one as retransmitted. A packet with nothing new that comes within `reordering`, a round trip or
    /// more, is a copy of the path: the server cannot have learnt of a loss, and its timer is longer
    /// (RFC 6298 section 2).
    pub(crate) fn take(&mut self, packet: Packet, reordering: Span) -> Arrival {
        let highest = self.end();
        if self.packets.len() >= SEGMENTS_MAX {
            return Arrival::TooMany;
        }
        match self.seen.insert(packet.start..packet.end()) {
            None => return Arrival::TooMany,
            Some(0) if self.came_within(packet, reordering) => {
                self.duplicated += 1;
                return Arrival::Duplicated;
            }
            Some(0) => {
                self.retransmissions += 1;
                return Arrival::Repeated;
            }
            Some(_) => {}
        }
        self.packets.push(packet);
        self.last_new = Some(packet.at);
        if packet.start >= highest {
            if packet.start > highest {
                self.gap_since = Some(packet.at);
            }
            return Arrival::New;
        }
        match self.gap_since {
            Some(since) if packet.at.saturating_since(since) <= reordering => self.reordered += 1,
            _ => self.retransmissions += 1,
        }
        Arrival::Late
    }

    /// Whether the byte at which a packet begins came first no longer than `span` before the packet.
    fn came_within(&self, packet: Packet, span: Span) -> bool {
        let recent = self.packets.iter().rev();
        let recent = recent.take_while(|first| packet.at.saturating_since(first.at) <= span);
        recent.into_iter().any(|first| (first.start..first.end()).contains(&packet.start))
    }

    /// The position after the highest byte.
    pub(crate) fn end(&self) -> u64 {
        self.seen.end().unwrap_or(0)
    }

    pub(crate) fn last_new(&self) -> Option<Time> {
        self.last_new
    }

    pub(crate) fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Payload of the longest packet.
    pub(crate) fn longest(&self) -> u32 {
        self.packets.iter().map(|packet| packet.len).max().unwrap_or(0)
    }

    /// The end of the data without a gap from `from` on.
    pub(crate) fn contiguous_end(&self, from: u64) -> u64 {
        self.seen.range_at(from).map_or(from, |range| range.end)
    }

    /// The ends of the first `count` segments from `from` on, up to the first gap.
    pub(crate) fn segment_ends(&self, from: u64, count: usize) -> Vec<u64> {
        let limit = self.contiguous_end(from);
        let mut ends: Vec<u64> = self.packets.iter().map(Packet::end).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.into_iter().filter(|end| *end > from && *end <= limit).take(count).collect()
    }

    /// The lowest offset, at `from` or above, of the packets that arrived first of all there, reordering
    /// within `reordering` allowed for; `None` if none arrived.
    pub(crate) fn first_from(&self, from: u64, reordering: Span) -> Option<u64> {
        let mut beyond = self.packets.iter().filter(|packet| packet.start >= from);
        let first = *beyond.next()?;
        let soon = beyond.filter(|packet| packet.at.saturating_since(first.at) <= reordering);
        Some(soon.map(|packet| packet.start).fold(first.start, u64::min))
    }

    /// Counts the packets of `from..to`.
    pub(crate) fn tally(&self, from: u64, to: u64) -> Tally {
        let inside = |packet: &&Packet| packet.start >= from && packet.start < to;
        let packets = self.packets.iter().filter(inside).count();
        let seen = self.seen.covered(from..to);
        let hole_bytes = to.saturating_sub(from).saturating_sub(seen);
        let longest = u64::from(self.longest().max(1));
        Tally {
            packets: packets as u32,
            bytes: seen,
            missing: u32::try_from(hole_bytes.div_ceil(longest)).unwrap_or(u32::MAX),
            missing_bytes: hole_bytes,
        }
    }
}

/// Packets of a part of the stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// Estimate of the packets that are missing in the holes of the stream.
    pub(crate) missing: u32,
    pub(crate) missing_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(at_ms: u64, start: u64) -> Packet {
        Packet { at: Time::ZERO + Span::from_millis(at_ms), start, len: 100 }
    }

    const REORDERING: Span = Span::from_millis(20);

    #[test]
    fn new_reordered_and_retransmitted_segments_are_distinguished() {
        let mut arrivals = Arrivals::default();
        let mut take = |at, start| arrivals.take(packet(at, start), REORDERING);
        assert_eq!(take(0, 0), Arrival::New);
        assert_eq!(take(1, 200), Arrival::New);
        assert_eq!(take(2, 100), Arrival::Late);
        assert_eq!(take(3, 400), Arrival::New);
        assert_eq!(take(200, 300), Arrival::Late);
        assert_eq!(take(400, 0), Arrival::Repeated);
        assert_eq!(arrivals.take(packet(401, 300), REORDERING), Arrival::Repeated);
        assert_eq!(arrivals.take(packet(215, 300), REORDERING), Arrival::Duplicated);
        assert_eq!((arrivals.reordered, arrivals.retransmissions), (1, 3));
        assert_eq!((arrivals.end(), arrivals.duplicated), (500, 1));
        assert_eq!(arrivals.tally(100, 500), Tally { packets: 4, bytes: 400, ..Tally::default() });
    }

    #[test]
    fn a_hole_counts_as_the_packets_that_fit_into_it_and_no_ack_goes_beyond_it() {
        let mut arrivals = Arrivals::default();
        for start in [0, 100, 400] {
            arrivals.take(packet(0, start), REORDERING);
        }
        let tally = Tally { packets: 3, bytes: 300, missing: 2, missing_bytes: 200 };
        assert_eq!(arrivals.tally(0, 500), tally);
        assert_eq!(arrivals.segment_ends(0, 3), [100, 200]);
        assert_eq!(arrivals.segment_ends(0, 1), [100]);
    }

    #[test]
    fn a_flight_whose_end_was_lost_is_followed_by_a_gap() {
        let mut arrivals = Arrivals::default();
        let mut take = |at, start| arrivals.take(packet(at, start), REORDERING);
        for (at, start) in [(0, 0), (0, 100), (50, 500), (51, 400), (300, 200)] {
            take(at, start);
        }
        assert_eq!(arrivals.first_from(200, REORDERING), Some(400), "the last is a retransmission");
        assert_eq!(arrivals.first_from(600, REORDERING), None);
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let mut arrivals = Arrivals::default();
        for start in 0..40_000 {
            arrivals.take(Packet { at: Time::ZERO, start: 2 * start, len: 1 }, REORDERING);
        }
        assert!(arrivals.packets().len() <= SEGMENTS_MAX);
    }
}
