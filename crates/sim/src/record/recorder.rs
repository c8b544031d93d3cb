//! The trait of recorders, and combinations of them: both of two, or one that may be absent.

use crate::endpoint::{Datagram, EndpointEvent, EndpointStatus, Side, Transmit};
use crate::model::LinkDirection;
use crate::packet::Packet;
use windlass_base::{Span, Time};
use windlass_tcp::{Connection, TraceEvent};

/// Receives the events of a run, for time series or captures. By default every method does nothing.
///
/// The events of one flow, or of one link direction, come in order of time. Events of different ones
/// may not: a channel catches up with departures from its queue at its next call, and a packet may
/// be delivered early.
pub trait Recorder {
    /// A connection of the flow starts; `connection` is the sender's end.
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        let _ = (now, flow, connection);
    }

    /// The connection's handshake is complete; the MSS and other options are negotiated.
    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        let _ = (now, flow, connection);
    }

    /// The next events of the flow are of this connection, one of several that are open. Only for flows
    /// with several connections at a time.
    fn connection_resumed(&mut self, now: Time, flow: usize, connection: &Connection) {
        let _ = (now, flow, connection);
    }

    /// Something happened at the sender's end of the flow's connection.
    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        let _ = (now, flow, event);
    }

    /// A transfer of the flow has arrived whole. `begun` is when its connection was opened, or when its
    /// request was sent.
    fn transfer_done(&mut self, now: Time, flow: usize, begun: Time, bytes: u64) {
        let _ = (now, flow, begun, bytes);
    }

    /// An endpoint of another transport sends a datagram with these bytes. `flow` is an index into
    /// [`Scenario::endpoints`](crate::Scenario::endpoints).
    fn datagram_sent(
        &mut self,
        now: Time,
        flow: usize,
        side: Side,
        transmit: &Transmit,
        payload: &[u8],
    ) {
        let _ = (now, flow, side, transmit, payload);
    }

    /// A datagram reaches an endpoint.
    fn datagram_received(&mut self, now: Time, flow: usize, side: Side, datagram: &Datagram) {
        let _ = (now, flow, side, datagram);
    }

    /// The state of a flow's sending endpoint has changed.
    fn endpoint_status(&mut self, now: Time, flow: usize, status: &EndpointStatus) {
        let _ = (now, flow, status);
    }

    /// Something happened at an endpoint.
    fn endpoint_event(&mut self, now: Time, flow: usize, side: Side, event: &EndpointEvent) {
        let _ = (now, flow, side, event);
    }

    /// The length of a queue changed, one of those that [`Summary::queues`](crate::Summary::queues) reports;
    /// `average` is RED's.
    fn queue_changed(
        &mut self,
        now: Time,
        direction: LinkDirection,
        packets: usize,
        average: Option<f64>,
    ) {
        let _ = (now, direction, packets, average);
    }

    /// The device of a link took a packet from one of these queues; from its arrival at the queue to its
    /// transmission it waits for `waited`. Before [`Recorder::queue_changed`], if the length changes too.
    fn packet_left(&mut self, now: Time, direction: LinkDirection, waited: Span) {
        let _ = (now, direction, waited);
    }

    /// Whether the run calls [`Recorder::packet`].
    fn wants_packets(&self) -> bool {
        false
    }

    /// Of a recorder that wants packets: whether it needs those of this direction of a link. It may get others
    /// as well.
    fn wants_packets_of(&self, direction: LinkDirection) -> bool {
        let _ = direction;
        self.wants_packets()
    }

    /// A packet passes end `a` of a link: at the beginning of its transmission, or at its arrival.
    /// Those of one link come in order of time, both directions together.
    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        let _ = (now, direction, packet);
    }
}

/// Records nothing.
impl Recorder for () {}

/// The events of a recorder that passes them on to each of the others, if it is there.
macro_rules! pass_on {
    ($self:ident => $($recorder:expr),+) => {
        fn connection_started(&mut $self, now: Time, flow: usize, connection: &Connection) {
            $(if let Some(recorder) = $recorder {
                recorder.connection_started(now, flow, connection);
            })+
        }

        fn connection_established(&mut $self, now: Time, flow: usize, connection: &Connection) {
            $(if let Some(recorder) = $recorder {
                recorder.connection_established(now, flow, connection);
            })+
        }

        fn connection_resumed(&mut $self, now: Time, flow: usize, connection: &Connection) {
            $(if let Some(recorder) = $recorder {
                recorder.connection_resumed(now, flow, connection);
            })+
        }

        fn flow_event(&mut $self, now: Time, flow: usize, event: TraceEvent) {
            $(if let Some(recorder) = $recorder {
                recorder.flow_event(now, flow, event);
            })+
        }

        fn transfer_done(&mut $self, now: Time, flow: usize, begun: Time, bytes: u64) {
            $(if let Some(recorder) = $recorder {
                recorder.transfer_done(now, flow, begun, bytes);
            })+
        }

        fn datagram_sent(
            &mut $self,
            now: Time,
            flow: usize,
            side: Side,
            transmit: &Transmit,
            payload: &[u8],
        ) {
            $(if let Some(recorder) = $recorder {
                recorder.datagram_sent(now, flow, side, transmit, payload);
            })+
        }

        fn datagram_received(&mut $self, now: Time, flow: usize, side: Side, datagram: &Datagram) {
            $(if let Some(recorder) = $recorder {
                recorder.datagram_received(now, flow, side, datagram);
            })+
        }

        fn endpoint_status(&mut $self, now: Time, flow: usize, status: &EndpointStatus) {
            $(if let Some(recorder) = $recorder {
                recorder.endpoint_status(now, flow, status);
            })+
        }

        fn endpoint_event(&mut $self, now: Time, flow: usize, side: Side, event: &EndpointEvent) {
            $(if let Some(recorder) = $recorder {
                recorder.endpoint_event(now, flow, side, event);
            })+
        }

        fn queue_changed(
            &mut $self,
            now: Time,
            direction: LinkDirection,
            packets: usize,
            average: Option<f64>,
        ) {
            $(if let Some(recorder) = $recorder {
                recorder.queue_changed(now, direction, packets, average);
            })+
        }

        fn packet_left(&mut $self, now: Time, direction: LinkDirection, waited: Span) {
            $(if let Some(recorder) = $recorder {
                recorder.packet_left(now, direction, waited);
            })+
        }

        fn packet(&mut $self, now: Time, direction: LinkDirection, packet: &Packet) {
            $(if let Some(recorder) = $recorder {
                recorder.packet(now, direction, packet);
            })+
        }
    };
}

/// Lets a caller keep its recorder.
impl<R: Recorder + ?Sized> Recorder for &mut R {
    pass_on!(self => Some(&mut **self));

    fn wants_packets(&self) -> bool {
        R::wants_packets(self)
    }

    fn wants_packets_of(&self, direction: LinkDirection) -> bool {
        R::wants_packets_of(self, direction)
    }
}

/// Passes every event to both recorders.
impl<A: Recorder, B: Recorder> Recorder for (A, B) {
    pass_on!(self => Some(&mut self.0), Some(&mut self.1));

    fn wants_packets(&self) -> bool {
        self.0.wants_packets() || self.1.wants_packets()
    }

    fn wants_packets_of(&self, direction: LinkDirection) -> bool {
        self.0.wants_packets_of(direction) || self.1.wants_packets_of(direction)
    }
}

/// Records nothing if `None`.
impl<R: Recorder> Recorder for Option<R> {
    pass_on!(self => self.as_mut());

    fn wants_packets(&self) -> bool {
        self.as_ref().is_some_and(Recorder::wants_packets)
    }

    fn wants_packets_of(&self, direction: LinkDirection) -> bool {
        self.as_ref().is_some_and(|recorder| recorder.wants_packets_of(direction))
    }
}
