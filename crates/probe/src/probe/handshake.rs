//! The ACKs for the server's flights of a TLS handshake, which precede the answer.

use super::{Flight, Phase, Probe, Purpose};
use windlass_base::{Span, Time};

/// The least retransmission timeout of a server beyond the round trip: 200 ms on Linux, more on others
/// (RFC 6298 §2.4).
const RTO_SLACK_MIN: Span = Span::from_millis(200);

impl Probe {
    /// Called when the request is about to leave. After the round trips of TLS 1.2 the ACKs for the answer
    /// may come after the server's retransmission timer has expired. In that case this acknowledges the
    /// handshake with the request, and the answer becomes the next flight.
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

    /// Acknowledges a flight of the handshake; the next flight is then measured. If the beginning of the
    /// flight is missing there is nothing to acknowledge, and the probe waits.
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
