//! What a run remembers: the means and counts of its summary, and whoever listens beside them.

mod flow;
mod mean;
mod queue;

pub(crate) use flow::{FlowRecord, FlowTap};
pub(crate) use mean::{CountMean, TimeMean};
pub(crate) use queue::QueueRecord;

use crate::event::EventQueue;
use crate::packet::{InFlight, Packet};
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

    /// The length of a queue changed, one of [`reported_queues`](crate::summary::reported_queues);
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

/// What every part of a running simulation writes to.
pub(crate) struct Context<'a, R> {
    pub(crate) events: &'a mut EventQueue,
    pub(crate) records: &'a mut Records,
    pub(crate) recorder: &'a mut R,
    /// When the run ends: what happens later does not count.
    pub(crate) end: Time,
}

/// Counts and means of a run, but for those that queues and connections keep themselves.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) bottleneck: Option<LinkDirection>,
    /// By TCP flow.
    pub(crate) flows: Vec<FlowRecord>,
    /// By TCP flow, followed by UDP sources.
    pub(crate) traffic: Vec<Traffic>,
    /// By UDP source.
    pub(crate) udp: Vec<UdpRecord>,
    /// TCP flows of which more is to come.
    pub(crate) unfinished: usize,
    /// Segments with payload that reached their endpoint.
    pub(crate) delivered_segments: u64,
}

/// What the network did to the packets of a flow from its sender to its receiver.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) bottleneck: AtQueues,
    pub(crate) elsewhere: AtQueues,
    pub(crate) lost: u64,
}

/// What queues did.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct AtQueues {
    pub(crate) marks: u64,
    pub(crate) drops: u64,
}

/// What a UDP source sent and its sink received.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct UdpRecord {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) received_before_steady: u64,
    steady_from: Time,
}

impl UdpRecord {
    pub(crate) fn new(steady_from: Time) -> UdpRecord {
        UdpRecord { steady_from, ..UdpRecord::default() }
    }

    pub(crate) fn receive(&mut self, now: Time) {
        self.received += 1;
        if now < self.steady_from {
            self.received_before_steady = self.received;
        }
    }
}

impl Records {
    /// A queue marked a packet.
    pub(crate) fn mark(&mut self, packet: &InFlight, queue: LinkDirection) {
        if let Some(counts) = self.at_queue(packet, queue) {
            counts.marks += 1;
        }
    }

    /// A queue dropped a packet.
    pub(crate) fn drop(&mut self, packet: &InFlight, queue: LinkDirection) {
        if let Some(counts) = self.at_queue(packet, queue) {
            counts.drops += 1;
        }
    }

    /// A link lost a packet.
    pub(crate) fn lose(&mut self, packet: &InFlight) {
        if !packet.to.is_reverse() {
            self.traffic[packet.flow as usize].lost += 1;
        }
    }

    fn at_queue(&mut self, packet: &InFlight, queue: LinkDirection) -> Option<&mut AtQueues> {
        if packet.to.is_reverse() {
            return None;
        }
        let traffic = &mut self.traffic[packet.flow as usize];
        let at_bottleneck = Some(queue) == self.bottleneck;
        Some(if at_bottleneck { &mut traffic.bottleneck } else { &mut traffic.elsewhere })
    }
}
