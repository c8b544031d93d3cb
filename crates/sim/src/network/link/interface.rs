//! The part of a channel behind its queue, which is the same for every kind of queue.

use super::propagation::Propagation;
use super::transmitter::Transmitter;
use crate::model::{self, LinkDirection};
use crate::network::transit::Transit;
use crate::packet::{InFlight, Slot};
use crate::record::{Context, QueueRecord, Recorder};
use windlass_aqm::{Packet, Queue};
use windlass_base::{Ecn, Rng, Span, Time};

/// Transmitter and propagation of a channel.
#[derive(Debug)]
// In the order of need.
#[repr(C)]
pub(super) struct Interface {
    pub(super) transmitter: Transmitter,
    pub(super) propagation: Propagation,
    /// Length of the queue over time, if the run reports it.
    pub(super) record: Option<Box<QueueRecord>>,
    pub(super) direction: LinkDirection,
    /// Packets that find the link free may have to wait, or are recorded.
    pub(super) notes_passes: bool,
    bleaches_ecn: bool,
    /// A packet that finds the link free only takes its time: the link neither records nor changes nor loses it,
    /// and its device has no queue.
    pub(super) is_plain: bool,
}

impl Interface {
    pub(super) fn new(
        direction: LinkDirection,
        spec: &model::Channel,
        impairments_rng: Rng,
        steady_from: Time,
        watched: bool,
    ) -> Interface {
        let propagation = Propagation::new(direction, spec, impairments_rng);
        let notes_passes = watched || !spec.device_queue.is_zero();
        Interface {
            is_plain: !notes_passes && !spec.bleaches_ecn && propagation.is_perfect(),
            transmitter: Transmitter::new(spec),
            propagation,
            record: watched.then(|| Box::new(QueueRecord::new(steady_from))),
            direction,
            notes_passes,
            bleaches_ecn: spec.bleaches_ecn,
        }
    }

    /// Captures a packet that begins its transmission at end `a` of the link.
    pub(super) fn capture_departure<R: Recorder>(
        &self,
        begin: Time,
        packet: Slot,
        transit: &mut Transit,
        cx: &Context<'_, R>,
    ) {
        if !self.direction.reverse && cx.recorder.wants_packets_of(self.direction) {
            transit.capture(begin, self.direction, packet);
        }
    }

    /// Clears the ECN codepoint of a packet that leaves the queue, where the link bleaches.
    #[inline]
    pub(super) fn bleach(&self, packet: Slot, transit: &mut Transit) {
        if self.bleaches_ecn {
            transit.packets.get_mut(packet).run.ecn = Ecn::NotEct;
        }
    }

    /// Records a packet that finds the link free, whose transmission begins at `begin`: later if the device
    /// holds others.
    pub(super) fn note_pass<R: Recorder>(
        &mut self,
        now: Time,
        begin: Time,
        packet: &mut InFlight,
        cx: &mut Context<'_, R>,
    ) {
        let waited = packet.wait(now, begin);
        self.note_departure(now, packet.wire_bytes, waited, cx);
    }

    /// Records that the device took a packet, after the time that it waits before its transmission.
    #[inline]
    pub(super) fn note_departure<R: Recorder>(
        &mut self,
        at: Time,
        wire_bytes: u32,
        waited: Span,
        cx: &mut Context<'_, R>,
    ) {
        if let Some(record) = &mut self.record {
            record.departure(at, wire_bytes, waited);
            cx.recorder.packet_left(at, self.direction, waited);
        }
    }

    /// Records the queue's length, if it changed.
    #[inline]
    pub(super) fn note_length<P: Packet, R: Recorder>(
        &mut self,
        at: Time,
        queue: &impl Queue<P>,
        cx: &mut Context<'_, R>,
    ) {
        if let Some(record) = &mut self.record
            && record.update(at, queue)
        {
            let (packets, average) = (queue.len_packets(), queue.average_packets());
            cx.recorder.queue_changed(at, self.direction, packets, average);
        }
    }
}
