//! The ACKs for what a server sends before its answer: the flights of a TLS handshake, greetings and replies.

use super::{Flight, Phase, Probe, Purpose, SETTLE_MAX, SETTLE_MIN};
use windlass_base::{Span, Time};

/// The least retransmission timeout of a server beyond the round trip: 200 ms on Linux, more on others
/// (RFC 6298 §2.4).
const RTO_SLACK_MIN: Span = Span::from_millis(200);

impl Probe {
    /// Whether TLS comes before the dialogue: the first flight is then that of its handshake.
    pub(super) fn secures_first(&self) -> bool {
        self.order.tls.is_some() && !self.order.dialogue.begins_tls()
    }

    /// Called when the request is about to leave. After earlier round trips, as of TLS 1.2 or SMTP, the ACKs
    /// for the answer may come after the server's retransmission timer has expired. In that case this
    /// acknowledges what has arrived with the request, and the answer becomes the next flight.
    pub(super) fn before_request(&mut self, now: Time) {
        let (Purpose::Measure(_), Phase::Flight(_)) = (self.order.purpose, &self.phase) else {
            return;
        };
        let (Some((first, rto)), Some(rtt)) = (self.rto(), self.rtt) else { return };
        let answered = now + rtt + rtt / 2;
        if answered >= first + rto {
            self.acknowledge_handshake(now);
        }
    }

    /// When the first packet without an ACK arrived, and the time after which an ACK that leaves here finds
    /// the server's timer expired.
    fn rto(&self) -> Option<(Time, Span)> {
        let rtt = self.rtt?;
        let unacked = |at: &&crate::arrivals::Packet| at.end() > self.flight_from;
        let first = self.arrivals.packets().iter().find(unacked)?.at;
        // The timer began half a round trip before the packet came, and the ACK takes as long.
        Some((first, (rtt + rtt).max(RTO_SLACK_MIN)))
    }

    /// When to acknowledge a greeting or a reply, unless the answer begins before. Until then the server may
    /// send the answer in the same flight. It may also wait for the ACK with its next reply (Nagle's
    /// algorithm, RFC 896).
    pub(super) fn ack_due(&self, since: Time) -> Option<Time> {
        let last = self.arrivals.last_new()?;
        let rtt = self.rtt.unwrap_or(SETTLE_MAX);
        let settled = last + rtt + rtt / 2;
        // A quarter of the server's time covers an ACK that leaves late.
        let due = self.rto().map_or(settled, |(first, rto)| first + rto * 3 / 4);
        Some(due.max(since + SETTLE_MIN))
    }

    /// Acknowledges a flight before the answer; the next flight is then measured. If the beginning of the
    /// flight is missing there is nothing to acknowledge, and the probe waits.
    pub(super) fn acknowledge_handshake(&mut self, now: Time) {
        if self.secures_first() {
            self.first_flight.get_or_insert_with(|| (0, Flight::of(&self.arrivals, 0)));
        }
        let ends = self.arrivals.segment_ends(self.flight_from, usize::MAX);
        self.phase = Phase::Flight(now);
        if let Some(end) = ends.last() {
            let first = self.first_byte();
            self.gate.release(ends.iter().map(|end| first.at(*end)));
            self.flight_from = *end;
            self.acked_before += ends.len() as u32;
        }
    }
}
