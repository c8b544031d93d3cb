//! The records of a run: means and counts for its summary, and the recorder.

mod completions;
mod delays;
mod divide;
mod endpoint;
mod flow;
mod mean;
mod media;
mod queue;
mod recorder;

pub(crate) use completions::{CLASS_BOUNDS, Class, Completion, Completions, IdlePath};
pub use divide::{Divide, Owners};
pub(crate) use endpoint::{EndRecord, EndpointRecord};
pub(crate) use flow::{FlowRecord, FlowTap};
pub(crate) use mean::Signal;
pub(crate) use queue::QueueRecord;
pub use recorder::Recorder;

use crate::event::EventQueue;
use crate::model::{LinkDirection, UdpFlow, UdpTraffic};
use crate::packet::InFlight;
use delays::Delays;
use media::MediaRecord;
use windlass_base::Time;

/// The outputs of a running simulation, which every part writes.
pub(crate) struct Context<'a, R> {
    pub(crate) events: &'a mut EventQueue,
    pub(crate) records: &'a mut Records,
    pub(crate) recorder: &'a mut R,
    /// End of the run; later events do not count.
    pub(crate) end: Time,
}

/// Counts and means of a run, except those that queues and connections keep.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) bottleneck: Option<LinkDirection>,
    /// By TCP flow.
    pub(crate) flows: Vec<FlowRecord>,
    /// By TCP flow, followed by UDP sources and flows of endpoints.
    pub(crate) traffic: Vec<Traffic>,
    /// By UDP source.
    pub(crate) udp: Vec<UdpRecord>,
    /// By flow of endpoints.
    pub(crate) endpoints: Vec<EndpointRecord>,
    /// TCP flows and flows of endpoints that have not finished.
    pub(crate) unfinished: usize,
    /// Segments with payload that reached their endpoint.
    pub(crate) delivered_segments: u64,
}

/// Marks, drops and losses of the packets of a flow from its sender to its receiver.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) bottleneck: AtQueues,
    pub(crate) elsewhere: AtQueues,
    /// Dropped by policers, before the queues.
    pub(crate) policed: u64,
    pub(crate) lost: u64,
}

/// Marks and drops of queues.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct AtQueues {
    pub(crate) marks: u64,
    pub(crate) drops: u64,
}

/// Packets that a UDP source sent and its sink received.
#[derive(Clone, Debug, Default)]
pub(crate) struct UdpRecord {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) received_before_steady: u64,
    /// On the wire.
    pub(crate) received_bytes: u64,
    pub(crate) bytes_before_steady: u64,
    /// Times that the received packets had waited in queues.
    pub(crate) delays: Delays,
    /// Of real-time media.
    pub(crate) media: Option<Box<MediaRecord>>,
}

impl UdpRecord {
    /// The record of a source that starts at `start`.
    pub(crate) fn new(flow: &UdpFlow, start: Time, steady_from: Time) -> UdpRecord {
        let media = match &flow.traffic {
            UdpTraffic::Media(media) => Some(Box::new(MediaRecord::new(media, start, steady_from))),
            UdpTraffic::Constant(_) | UdpTraffic::Arrivals(_) => None,
        };
        UdpRecord { delays: Delays::new(steady_from), media, ..UdpRecord::default() }
    }

    #[inline]
    pub(crate) fn receive(&mut self, now: Time, packet: &InFlight) {
        self.received += 1;
        self.received_bytes += u64::from(packet.wire_bytes);
        if !self.delays.record(now, packet.waited) {
            self.received_before_steady = self.received;
            self.bytes_before_steady = self.received_bytes;
        }
        if let Some(media) = &mut self.media {
            media.receive(now, packet);
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

    /// A policer dropped a packet.
    pub(crate) fn police(&mut self, packet: &InFlight) {
        if !packet.to.is_reverse() {
            self.traffic[packet.flow as usize].policed += 1;
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
