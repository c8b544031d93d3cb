//! What a handshake of TLS, which comes before the answer, takes.

use super::{Flight, Phase, Probe, Purpose};
use windlass_base::{Span, Time};

/// What a server adds to the round trip, at least, before its retransmission timer runs out: Linux's
/// 200 ms; others have more (RFC 6298 §2.4).
const RTO_SLACK_MIN: Span = Span::from_millis(200);

impl Probe {
    /// The request is about to leave. Where TLS took so many round trips before it (TLS 1.2) that the
    /// answer could not be acknowledged before the server's retransmission timer runs out, what has come is
    /// acknowledged with the request: the answer is the next flight.
    pub(super) fn before_request(&mut self, now: Time) {
        let (Purpose::Measure(_), Phase::Flight(_)) = (self.order.purpose, &self.phase) else {
            return;
        };
        let Some((first, rtt)) =
            self.arrivals.packets().first().map(|packet| packet.at).zip(self.rtt)
        else {
            return;
        };
        // The timer began half a round trip before the packet came, and the ACK takes as long.
        let due = first + (rtt + rtt).max(RTO_SLACK_MIN);
        let answered = now + rtt + rtt / 2;
        if answered >= due {
            self.first_flight.get_or_insert_with(|| Flight::of(&self.arrivals, 0));
            self.acknowledge_handshake(now);
        }
    }

    /// TLS has had a flight that is not the answer: it is acknowledged, and the next one is it. Where
    /// the beginning is missing there is nothing to acknowledge, and all that is left is to wait.
    pub(super) fn acknowledge_handshake(&mut self, now: Time) {
        let ends = self.arrivals.segment_ends(self.flight_from, usize::MAX);
        self.phase = Phase::Flight(now);
        if let Some(end) = ends.last() {
            let first = self.first_byte();
            self.gate.release(ends.iter().map(|end| first.at(*end)));
            self.flight_from = *end;
        }
    }
}
