//! The packets at the sender's end.

use crate::subject::Packet;
use windlass_base::{Span, Time};
use windlass_tcp::{Flags, SeqNumber};

/// A packet that left the sender or arrived there.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Event {
    /// When it passed the sender.
    pub at: Time,
    /// Which way.
    pub kind: EventKind,
    /// The packet.
    pub packet: Packet,
    /// FlightSize after it, in bytes.
    pub flight: u64,
    /// The same without what SACK blocks have reported.
    pub unsacked: u64,
    /// The variable `cwnd` of then, in bytes, where the sender shows it.
    pub cwnd: Option<f64>,
}

/// Which way a packet goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The sender sent data for the first time, or a packet without data.
    Sent,
    /// The sender sent data again.
    Resent,
    /// It arrived at the sender.
    Arrived,
}

/// The record of the packets at the sender's end, and what follows from them. Offsets are bytes of the stream; the
/// SYN is before offset 0.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    events: Vec<Event>,
    isn: Option<SeqNumber>,
    /// The end of the data sent so far.
    sent: u64,
    /// The cumulative acknowledgment.
    acked: u64,
    /// Ranges above it that SACK blocks reported, apart and in order.
    sacked: Vec<(u64, u64)>,
    resent: u64,
    /// Payload of the largest segment.
    segment: u64,
}

impl Wire {
    /// Every packet so far, in order of time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The end of the data sent so far: an offset.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that the receiver has acknowledged cumulatively.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// FlightSize (RFC 5681 section 2): bytes sent and not acknowledged cumulatively.
    pub fn flight(&self) -> u64 {
        self.sent - self.acked
    }

    /// Bytes sent, and neither acknowledged nor reported by SACK.
    pub fn unsacked(&self) -> u64 {
        self.flight() - self.sacked.iter().map(|(left, right)| right - left).sum::<u64>()
    }

    /// Packets with data that was sent before.
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// The offset of a packet's first byte, among those near what was sent.
    pub fn offset(&self, seq: SeqNumber) -> u64 {
        let isn = self.isn.unwrap_or(seq);
        // The SYN takes a number.
        seq.unwrap_near(isn, self.sent + 1).unwrap_or(0).saturating_sub(1)
    }

    /// The sequence number of an offset.
    pub(crate) fn seq(&self, offset: u64) -> SeqNumber {
        self.isn.unwrap_or_default().at(offset + 1)
    }

    /// Payload of the largest segment so far, in bytes; at least one.
    pub fn segment(&self) -> u64 {
        self.segment.max(1)
    }

    /// The ranges above the cumulative acknowledgment that SACK blocks reported, apart and in order.
    pub fn sacked(&self) -> &[(u64, u64)] {
        &self.sacked
    }

    /// The packets with data that left from `since` on.
    pub fn data_since(&self, since: Time) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| {
            event.at >= since
                && event.kind != EventKind::Arrived
                && event.packet.segment.payload_len > 0
        })
    }

    /// The pauses between packets with data from `since` on.
    pub fn pauses_since(&self, since: Time) -> Vec<Span> {
        let times: Vec<Time> = self.data_since(since).map(|event| event.at).collect();
        times.windows(2).map(|pair| pair[1].saturating_since(pair[0])).collect()
    }

    /// Whether the data of this packet was sent before, in whole or in part.
    pub(super) fn is_resent(&self, packet: &Packet) -> bool {
        packet.segment.payload_len > 0 && self.offset(packet.segment.seq) < self.sent
    }

    pub(super) fn note_sent(&mut self, at: Time, packet: &Packet, cwnd: Option<f64>) {
        let segment = &packet.segment;
        if segment.flags.contains(Flags::SYN) {
            self.isn = Some(segment.seq);
        }
        let again = self.is_resent(packet);
        self.resent += u64::from(again);
        self.segment = self.segment.max(u64::from(segment.payload_len));
        if segment.payload_len > 0 {
            let end = self.offset(segment.seq) + u64::from(segment.payload_len);
            self.sent = self.sent.max(end);
        }
        let kind = if again { EventKind::Resent } else { EventKind::Sent };
        self.push(at, kind, packet, cwnd);
    }

    pub(super) fn note_arrived(&mut self, at: Time, packet: &Packet, cwnd: Option<f64>) {
        let segment = &packet.segment;
        if segment.flags.contains(Flags::ACK) && self.isn.is_some() {
            // A FIN takes a number, too.
            self.acked = self.acked.max(self.offset(segment.ack)).min(self.sent);
            for (left, right) in segment.options.sack.as_slice() {
                let range = (self.offset(*left), self.offset(*right));
                if range.0 < range.1 && range.1 <= self.sent {
                    self.sacked.push(range);
                }
            }
            self.merge();
        }
        self.push(at, EventKind::Arrived, packet, cwnd);
    }

    /// Keeps the ranges apart, in order, and above the cumulative acknowledgment.
    fn merge(&mut self) {
        let acked = self.acked;
        self.sacked.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (left, right) in self.sacked.drain(..) {
            let left = left.max(acked);
            match merged.last_mut() {
                _ if right <= left => {}
                Some(last) if left <= last.1 => last.1 = last.1.max(right),
                _ => merged.push((left, right)),
            }
        }
        self.sacked = merged;
    }

    fn push(&mut self, at: Time, kind: EventKind, packet: &Packet, cwnd: Option<f64>) {
        let (flight, unsacked) = (self.flight(), self.unsacked());
        self.events.push(Event { at, kind, packet: *packet, flight, unsacked, cwnd });
    }
}
