//! A channel whose queue may drop a packet that it has taken, as CoDel does at dequeue.

use super::interface::Interface;
use super::queued_packet::QueuedPacket;
use super::varying::Varying;
use crate::model::LinkDirection;
use crate::network::transit::Transit;
use crate::packet::Slot;
use crate::record::{Context, Recorder, Records};
use windlass_aqm::Queue;
use windlass_base::{Ecn, Rng, Time};

/// A queue that decides at dequeue, and the interface behind it.
///
/// The arrival time of a packet is known when its transmission begins, so departures have no events.
/// The channel catches up with them at its next call, each at its own time. That is soon enough:
/// packets that leave the queue later also arrive later.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct DecidesAtDequeue<Q> {
    pub(super) interface: Interface,
    pub(super) queue: Q,
    rng: Rng,
    /// `None` if nothing changes over time.
    varying: Option<Box<Varying>>,
    /// Packets that the queue marked, counted as they leave it: a queue of another crate may mark any
    /// packet that waits.
    marks: u64,
}

impl<Q: Queue<QueuedPacket>> DecidesAtDequeue<Q> {
    pub(super) fn new(queue: Q, interface: Interface, rng: Rng) -> DecidesAtDequeue<Q> {
        DecidesAtDequeue { interface, queue, rng, varying: None, marks: 0 }
    }

    /// The same with what changes over time.
    pub(super) fn varying(self, varying: Option<Box<Varying>>) -> DecidesAtDequeue<Q> {
        DecidesAtDequeue { varying, ..self }
    }

    /// Packets that the policer dropped; `None` without one.
    pub(super) fn policed(&self) -> Option<u64> {
        self.varying.as_ref()?.policed()
    }

    /// Packets that left the queue with its mark.
    pub(super) fn marks(&self) -> u64 {
        self.marks
    }

    /// False: the queue may yet drop a packet that it has taken.
    pub(super) fn can_deliver_early(&self) -> bool {
        false
    }

    /// A packet arrives at the queue. Its arrival at the far end is not known yet: returns `None`.
    pub(super) fn offer<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        _early: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        self.advance(now, transit, cx);
        let direction = self.interface.direction;
        let queued = QueuedPacket::new(slot, transit.packets.get(slot), now);
        if self.varying.as_mut().is_some_and(|varying| !varying.admits(now, queued.wire_bytes)) {
            cx.records.police(transit.packets.get(slot));
            transit.packets.release(slot);
            return None;
        }
        let dropped =
            &mut |lost: QueuedPacket, _| drop_packet(lost.slot, direction, transit, cx.records);
        self.queue.enqueue(now, queued, &mut self.rng, dropped);
        if self.interface.transmitter.idle && !self.queue.is_empty() {
            self.interface.transmitter.idle = false;
            self.interface.transmitter.asks_at = now;
            self.advance(now, transit, cx);
        }
        self.interface.note_length(now, &self.queue, cx);
        None
    }

    /// Catches up with the transmissions that have begun until `now`.
    pub(super) fn advance<R: Recorder>(
        &mut self,
        now: Time,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) {
        while self.interface.transmitter.is_due(now) {
            let at = self.interface.transmitter.asks_at;
            self.begin_transmission(at, transit, cx);
            self.interface.note_length(at, &self.queue, cx);
        }
    }

    /// Puts the next packet on the link, or falls idle.
    fn begin_transmission<R: Recorder>(
        &mut self,
        at: Time,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) {
        let direction = self.interface.direction;
        let dropped =
            &mut |lost: QueuedPacket, _| drop_packet(lost.slot, direction, transit, cx.records);
        let Some(next) = self.queue.dequeue(at, &mut self.rng, dropped) else {
            self.interface.transmitter.idle = true;
            return;
        };
        let packet = transit.packets.get_mut(next.slot);
        if next.ecn != packet.run.ecn {
            packet.run.ecn = next.ecn;
            if next.ecn == Ecn::Ce {
                self.marks += 1;
                cx.records.mark(packet, direction);
            }
        }
        if let Some(varying) = &mut self.varying {
            let sent = varying.transmit(at, next.wire_bytes);
            let arrival = varying.arrival(sent.end, next.wire_bytes);
            let lost = varying.loses(sent.end);
            self.interface.transmitter.occupy(at, sent.end);
            self.note_departure(at, sent.begin, next, transit, cx);
            self.interface.capture_departure(sent.begin, next.slot, transit, cx);
            self.interface.bleach(next.slot, transit);
            self.interface.propagation.launch_varying(arrival, lost, next.slot, cx);
            return;
        }
        let begin = self.interface.transmitter.take(at, next.wire_bytes);
        self.note_departure(at, begin, next, transit, cx);
        self.interface.capture_departure(begin, next.slot, transit, cx);
        self.interface.bleach(next.slot, transit);
        self.interface.propagation.launch(self.interface.transmitter.sent_at, next.slot, cx);
    }

    /// Counts the time that a packet has waited, whose transmission begins at `begin`.
    fn note_departure<R: Recorder>(
        &mut self,
        at: Time,
        begin: Time,
        next: QueuedPacket,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) {
        let waited = begin.saturating_since(next.arrived);
        transit.packets.get_mut(next.slot).waited += waited;
        self.interface.note_departure(at, next.wire_bytes, waited, cx);
    }

    /// The first packet in flight arrives. Packets whose transmission has begun since are appended
    /// first, so that the next arrival can be scheduled.
    pub(super) fn take_arrival<R: Recorder>(
        &mut self,
        now: Time,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<(Slot, bool)> {
        self.advance(now, transit, cx);
        self.interface.propagation.take_arrival(cx)
    }
}

fn drop_packet(slot: Slot, queue: LinkDirection, transit: &mut Transit, records: &mut Records) {
    records.drop(transit.packets.get(slot), queue);
    transit.packets.release(slot);
}
