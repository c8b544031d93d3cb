//! The run of a topic: its state while one connection lasts.

use super::channel::{Arrival, Channel, Packet};
use super::ecn::Endpoint;
use super::{Ending, Report};
use crate::wire::Received;
use std::fmt;
use windlass_base::Time;
use windlass_tcp::Segment;

/// The properties of a connection that are fixed before its SYN leaves.
#[derive(Debug, Default)]
pub(crate) struct Setup {
    /// ACKs leave as the engine makes them.
    pub(crate) acks_as_usual: bool,
    /// The window that the first ACK offers, in bytes; `None`: the order's.
    pub(crate) first_window: Option<u32>,
    /// The SYN permits SACK.
    pub(crate) sack: bool,
    /// The client's side of ECN; `None`: the SYN asks for nothing.
    pub(crate) ecn: Option<Endpoint>,
}

/// The next state of a connection.
#[derive(Debug)]
pub(crate) enum Next {
    /// It goes on.
    Wait,
    /// It makes its report, and stays open for another connection.
    Hold,
    /// It makes its report and is over.
    End(Ending),
}

/// A topic on one connection. The probe calls it between the end of the handshake and the end of the
/// connection, but for `setup`, which comes before, and `fill`, which also follows a failed handshake.
pub(crate) trait Run: fmt::Debug + Send {
    fn setup(&self) -> Setup {
        Setup::default()
    }

    /// The SYN-ACK has arrived.
    fn begin(&mut self, _now: Time, _channel: &mut Channel, _syn_ack: &Segment) -> Next {
        Next::Wait
    }

    /// Takes a segment that begins at `offset` of the server's stream. False: its packets are still to be counted,
    /// if they are within the receive window.
    fn handle_segment(
        &mut self,
        _now: Time,
        _offset: u64,
        _received: &Received<'_>,
        _channel: &mut Channel,
    ) -> bool {
        false
    }

    /// Counts a packet within the receive window.
    fn take(&mut self, packet: Packet, channel: &mut Channel) -> Arrival {
        channel.take(packet)
    }

    /// The request is about to leave.
    fn before_request(&mut self, _now: Time, _channel: &mut Channel) {}

    /// The last ACK of a flight has left.
    fn handle_last_ack(&mut self, _now: Time) {}

    /// Called after each packet and timer, once the application has its bytes.
    fn advance(&mut self, now: Time, channel: &mut Channel) -> Next;

    /// The next time at which [`Run::advance`] may do something, other than at the deadline.
    fn poll_timeout(&self, _channel: &Channel) -> Option<Time> {
        None
    }

    /// The end of the wait.
    fn deadline(&self, channel: &Channel) -> Time {
        channel.connected + channel.order.patience
    }

    /// The ending if the wait is over; `None`: as the server's window says.
    fn ending_at_deadline(&self, _channel: &Channel) -> Option<Ending> {
        None
    }

    /// Queues an ACK that is due, before the next packet leaves. Returns whether packets other than queued ACKs may
    /// leave.
    fn release(&mut self, _now: Time, _channel: &mut Channel) -> bool {
        true
    }

    /// Whether a reset that arrives now takes nothing from the measurement.
    fn has_measured(&self) -> bool {
        false
    }

    /// Adds the topic's part to the report of the connection.
    fn fill(&mut self, _channel: &Channel, _report: &mut Report) {}
}
