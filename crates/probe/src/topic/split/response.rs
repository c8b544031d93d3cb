//! The packets that a server sends in response to the ACKs of a test.

use super::report::Flight;
use crate::topic::channel::{Arrival, Arrivals, Tally};
use windlass_base::{Span, Time};

/// The phase after the ACKs of the test.
#[derive(Debug)]
pub(super) struct Response {
    since: Time,
    /// New data after a longer pause is not a response to the ACKs: a tail loss probe or a timeout
    /// sent it.
    pause_max: Span,
    pub(super) flight: Flight,
    /// The ends of the segments that were acknowledged, from the flight's beginning on.
    pub(super) acked: Vec<u64>,
    pub(super) acks_sent: u32,
    /// The stream offset at which new data begins; `before` counts the data below it.
    from: u64,
    before: Tally,
    pub(super) retransmissions_before: u32,
    closed: Option<Tally>,
}

impl Response {
    pub(super) fn new(
        now: Time,
        rtt: Span,
        flight: Flight,
        acked: Vec<u64>,
        acks_sent: u32,
        arrivals: &Arrivals,
    ) -> Response {
        Response {
            since: now,
            pause_max: rtt + rtt / 2 + Span::from_millis(100),
            flight,
            acked,
            acks_sent,
            from: arrivals.end(),
            before: arrivals.tally(0, arrivals.end()),
            retransmissions_before: arrivals.retransmissions,
            closed: None,
        }
    }

    pub(super) fn since(&self) -> Time {
        self.since
    }

    /// Packets sent before the ACKs.
    pub(super) fn packets_before(&self) -> u32 {
        self.before.packets + self.before.missing
    }

    /// The stream offset at which new data begins.
    pub(super) fn from(&self) -> u64 {
        self.from
    }

    /// Whether the server's response to the ACKs is over.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    pub(super) fn before_packet(&mut self, now: Time, arrivals: &Arrivals) {
        let last = arrivals.last_new().map_or(self.since, |at| at.max(self.since));
        if now.saturating_since(last) > self.pause_max {
            self.close(arrivals);
        }
    }

    pub(super) fn after_packet(&mut self, arrival: Arrival, arrivals: &Arrivals) {
        // New packets after a timeout are no growth.
        let sent_again = arrivals.retransmissions > self.retransmissions_before;
        if !matches!(arrival, Arrival::New | Arrival::Duplicated) && sent_again {
            self.close(arrivals);
        }
    }

    fn close(&mut self, arrivals: &Arrivals) {
        self.closed.get_or_insert_with(|| arrivals.tally(self.from, arrivals.end()));
    }

    /// The new data that the ACKs brought.
    pub(super) fn grown(&self, arrivals: &Arrivals) -> Tally {
        self.closed.unwrap_or_else(|| arrivals.tally(self.from, arrivals.end()))
    }
}
