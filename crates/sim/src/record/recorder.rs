//! The public trait of whatever listens to a run.

use crate::packet::Packet;
use crate::scenario::model::LinkDirection;
use windlass_base::Time;
use windlass_tcp::{Connection, TraceEvent};

/// A listener to a run: time series, captures. Every method does nothing unless implemented.
///
/// Of one flow, or of one link direction, events come in order of time. Between them they need not:
/// a channel looks back at what left its queue when it is next asked, and an endpoint may take a
/// packet before its time.
pub trait Recorder {
    /// A connection of the flow starts; `connection` is the sender's end.
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        let _ = (now, flow, connection);
    }

    /// The connection's handshake is over: what was to be agreed on, as the size of segments, is.
    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        let _ = (now, flow, connection);
    }

    /// Something happened at the sender's end of the flow's connection.
    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        let _ = (now, flow, event);
    }

    /// The length of a queue changed, one of [`reported_queues`](crate::reported_queues::reported_queues);
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

    /// True if [`Recorder::packet`] is to be called at all.
    fn wants_packets(&self) -> bool {
        false
    }

    /// A packet passes end `a` of a link: at the beginning of its transmission, or at its arrival.
    /// Those of one link come in order of time, both directions together.
    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        let _ = (now, direction, packet);
    }
}

/// Nobody listens.
impl Recorder for () {}

/// Both listen.
impl<A: Recorder, B: Recorder> Recorder for (A, B) {
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        self.0.connection_started(now, flow, connection);
        self.1.connection_started(now, flow, connection);
    }

    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        self.0.connection_established(now, flow, connection);
        self.1.connection_established(now, flow, connection);
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        self.0.flow_event(now, flow, event);
        self.1.flow_event(now, flow, event);
    }

    fn queue_changed(
        &mut self,
        now: Time,
        direction: LinkDirection,
        packets: usize,
        average: Option<f64>,
    ) {
        self.0.queue_changed(now, direction, packets, average);
        self.1.queue_changed(now, direction, packets, average);
    }

    fn wants_packets(&self) -> bool {
        self.0.wants_packets() || self.1.wants_packets()
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        self.0.packet(now, direction, packet);
        self.1.packet(now, direction, packet);
    }
}

/// Somebody listens, or nobody.
impl<R: Recorder> Recorder for Option<R> {
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        if let Some(recorder) = self {
            recorder.connection_started(now, flow, connection);
        }
    }

    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        if let Some(recorder) = self {
            recorder.connection_established(now, flow, connection);
        }
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        if let Some(recorder) = self {
            recorder.flow_event(now, flow, event);
        }
    }

    fn queue_changed(
        &mut self,
        now: Time,
        direction: LinkDirection,
        packets: usize,
        average: Option<f64>,
    ) {
        if let Some(recorder) = self {
            recorder.queue_changed(now, direction, packets, average);
        }
    }

    fn wants_packets(&self) -> bool {
        self.as_ref().is_some_and(Recorder::wants_packets)
    }

    fn packet(&mut self, now: Time, direction: LinkDirection, packet: &Packet) {
        if let Some(recorder) = self {
            recorder.packet(now, direction, packet);
        }
    }
}
