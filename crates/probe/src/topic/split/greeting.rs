//! The ACKs for what a server sends before its answer: the flights of a TLS handshake, greetings and replies.

use super::report::Flight;
use super::run::{Phase, Split};
use crate::topic::channel::{Channel, Packet, SETTLE_MAX, SETTLE_MIN};
use windlass_base::{Span, Time};

/// The least retransmission timeout of a server beyond the round trip: 200 ms on Linux, more on others
/// (RFC 6298 §2.4).
const RTO_SLACK_MIN: Span = Span::from_millis(200);

impl Split {
    /// Whether the ACKs for the answer to a request that leaves now may come after the server's retransmission
    /// timer has expired. It happens after earlier round trips, as of TLS 1.2 or SMTP. The data so far are then
    /// acknowledged with the request, and the answer becomes the next flight.
    pub(super) fn comes_too_late(&self, now: Time, channel: &Channel) -> bool {
        let (Some((first, rto)), Some(rtt)) = (self.rto(channel), channel.rtt) else {
            return false;
        };
        now + rtt + rtt / 2 >= first + rto
    }

    /// When the first packet without an ACK arrived, and the time after which an ACK that leaves here finds
    /// the server's timer expired.
    fn rto(&self, channel: &Channel) -> Option<(Time, Span)> {
        let rtt = channel.rtt?;
        let unacked = |packet: &&Packet| packet.end() > self.flight_from;
        let first = channel.arrivals.packets().iter().find(unacked)?.at;
        // The timer began half a round trip before the packet came, and the ACK takes as long.
        Some((first, (rtt + rtt).max(RTO_SLACK_MIN)))
    }

    /// When to acknowledge a greeting or a reply, unless the answer begins before. Until then the server may
    /// send the answer in the same flight. It may also wait for the ACK with its next reply (Nagle's
    /// algorithm, RFC 896).
    pub(super) fn ack_due(&self, since: Time, channel: &Channel) -> Option<Time> {
        let last = channel.arrivals.last_new()?;
        let rtt = channel.rtt_or(SETTLE_MAX);
        let settled = last + rtt + rtt / 2;
        // A quarter of the server's time covers an ACK that leaves late.
        let due = self.rto(channel).map_or(settled, |(first, rto)| first + rto * 3 / 4);
        Some(due.max(since + SETTLE_MIN))
    }

    /// Acknowledges a flight before the answer; the next flight is then measured. If the beginning of the
    /// flight is missing there is nothing to acknowledge, and the probe waits.
    pub(super) fn acknowledge_greeting(&mut self, now: Time, channel: &mut Channel) {
        if channel.secures_first() {
            self.first_flight.get_or_insert_with(|| (0, Flight::of(&channel.arrivals, 0)));
        }
        let ends = channel.arrivals.segment_ends(self.flight_from, usize::MAX);
        self.phase = Phase::Flight(now);
        if let Some(end) = ends.last() {
            let first = channel.seq(0);
            channel.gate.release(ends.iter().map(|end| first.at(*end)));
            self.flight_from = *end;
            self.acked_before += ends.len() as u32;
        }
    }
}
