//! A connection that runs a test: the first flight, the ACKs of the test, and the server's response to them.

use super::order::SplitOrder;
use super::report::Flight;
use super::response::Response;
use crate::topic::channel::{Arrival, Channel, LastAck, Packet, SETTLE_MAX, SETTLE_MIN};
use crate::topic::run::{Next, Run};
use crate::topic::{Ending, Report};
use windlass_base::{Span, Time};
use windlass_tcp::Segment;

#[derive(Debug)]
pub(crate) struct Split {
    pub(super) order: SplitOrder,
    pub(super) phase: Phase,
    /// With the stream offset at which it begins.
    pub(super) first_flight: Option<(u64, Flight)>,
    /// The stream offset of the flight that the test acknowledges.
    pub(super) flight_from: u64,
    /// Segments that were acknowledged before the flight that is measured.
    pub(super) acked_before: u32,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waits for the flight, since this time.
    Flight(Time),
    /// The ACKs of the test have left.
    Response(Response),
}

impl Split {
    pub(crate) fn new(order: SplitOrder) -> Split {
        Split {
            order,
            phase: Phase::Flight(Time::ZERO),
            first_flight: None,
            flight_from: 0,
            acked_before: 0,
        }
    }

    /// The first flight as it has arrived, unless it was noted before.
    fn note_flight(&mut self, channel: &Channel) {
        let from = self.flight_from;
        self.first_flight.get_or_insert_with(|| (from, Flight::of(&channel.arrivals, from)));
    }

    /// Queues the ACKs of the test.
    fn divide(&mut self, now: Time, channel: &mut Channel) {
        let from = self.flight_from;
        let ends = channel.arrivals.segment_ends(from, usize::from(self.order.acks));
        let relative: Vec<u64> = ends.iter().map(|end| end - from).collect();
        let mut acks = self.order.test.acks(&relative);
        let first = channel.seq(from);
        let sent = acks.len() as u32;
        let last = acks.pop().map(|last| first.at(last));
        channel.last_ack = last.map(|ack| LastAck { ack, edge: None, at: None });
        channel.gate.release(acks.into_iter().map(|ack| first.at(ack)));
        let flight = Flight::of(&channel.arrivals, from);
        let rtt = channel.rtt_or(Span::ZERO);
        let response = Response::new(now, rtt, flight, relative, sent, &channel.arrivals);
        self.phase = Phase::Response(response);
    }

    /// The server's response to the ACKs, once they have left.
    pub(super) fn response(&self) -> Option<&Response> {
        match &self.phase {
            Phase::Response(response) => Some(response),
            Phase::Flight(_) => None,
        }
    }
}

impl Run for Split {
    fn begin(&mut self, now: Time, _: &mut Channel, _: &Segment) -> Next {
        self.phase = Phase::Flight(now);
        Next::Wait
    }

    fn take(&mut self, packet: Packet, channel: &mut Channel) -> Arrival {
        let Phase::Response(response) = &mut self.phase else { return channel.take(packet) };
        response.before_packet(packet.at, &channel.arrivals);
        let arrival = channel.take(packet);
        response.after_packet(arrival, &channel.arrivals);
        arrival
    }

    fn before_request(&mut self, now: Time, channel: &mut Channel) {
        if matches!(self.phase, Phase::Flight(_)) && self.comes_too_late(now, channel) {
            self.acknowledge_greeting(now, channel);
        }
    }

    fn advance(&mut self, now: Time, channel: &mut Channel) -> Next {
        if self.response().is_some() {
            return Next::Wait;
        }
        if channel.answer_has_ended() {
            self.note_flight(channel);
            return Next::End(channel.answered(Ending::TooShort));
        }
        if self.poll_timeout(channel).is_none_or(|at| now < at) {
            return Next::Wait;
        }
        if channel.application.answer_has_begun() {
            self.note_flight(channel);
            self.divide(now, channel);
        } else {
            self.acknowledge_greeting(now, channel);
        }
        Next::Wait
    }

    /// The time at which the flight counts as complete; `None` before its first packet. It is later if
    /// fewer packets have arrived than the test acknowledges. It never exceeds the server's
    /// retransmission timeout: three RTTs after a handshake (RFC 6298 §2.2), of which the flight and its
    /// ACK take one.
    fn poll_timeout(&self, channel: &Channel) -> Option<Time> {
        let Phase::Flight(since) = self.phase else { return None };
        if channel.arrivals.end() == self.flight_from {
            return None;
        }
        if !channel.secures_first() && !channel.application.answer_has_begun() {
            return self.ack_due(since, channel);
        }
        let rtt = channel.rtt_or(SETTLE_MAX);
        // With TLS or after a greeting the flight begins before the request can be answered.
        let answer = channel.asked.map(|asked| asked + rtt);
        let last = channel.arrivals.last_new()?.max(since).max(answer.unwrap_or(since));
        let packets = channel.arrivals.tally(self.flight_from, u64::MAX).packets;
        let few = packets < u32::from(self.order.acks);
        let settle = if few { rtt + rtt / 2 } else { rtt / 2 };
        Some(last + settle.clamp(SETTLE_MIN, SETTLE_MAX))
    }

    fn deadline(&self, channel: &Channel) -> Time {
        match self.response() {
            Some(response) => response.since() + self.order.timeout,
            None => channel.connected + channel.order.patience,
        }
    }

    fn ending_at_deadline(&self, _: &Channel) -> Option<Ending> {
        self.response().map(|_| Ending::Measured)
    }

    fn has_measured(&self) -> bool {
        self.response().is_some_and(Response::is_closed)
    }

    fn fill(&mut self, channel: &Channel, report: &mut Report) {
        report.observation = self.observe(channel);
    }
}
