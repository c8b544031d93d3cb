//! A channel whose queue decides at enqueue and keeps the order, as DropTail does.
//!
//! The future of an enqueued packet is known: no other packet overtakes it and the queue does not drop
//! it, so its transmission begins when those of the packets before it have ended. It is in flight at
//! once; the queue keeps only what it needs for its own length.

use super::interface::Interface;
use super::queued_packet::QueuedPacket;
use crate::model::LinkDirection;
use crate::network::transit::Transit;
use crate::packet::{InFlight, Slot};
use crate::record::{Context, Recorder, Records};
use windlass_aqm::{DropTail, Queue};
use windlass_base::{Ecn, Rng, Time};

/// A queue that decides at enqueue, and the interface behind it. The interface is the first field in
/// every kind of channel, so that reading it does not depend on the kind.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct DecidesAtEnqueue<Q> {
    pub(super) interface: Interface,
    /// When the transmissions of all enqueued packets will have ended.
    free_at: Time,
    pub(super) queue: Q,
    rng: Rng,
}

impl<Q: Queue<QueuedPacket>> DecidesAtEnqueue<Q> {
    pub(super) fn new(queue: Q, interface: Interface, rng: Rng) -> DecidesAtEnqueue<Q> {
        DecidesAtEnqueue { interface, free_at: Time::ZERO, queue, rng }
    }

    /// Packets that the queue marked.
    pub(super) fn marks(&self) -> u64 {
        self.queue.stats().marked
    }

    #[inline(never)]
    fn offer_apart<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        early: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        self.offer(now, slot, early, transit, cx)
    }

    /// A packet arrives at the queue. If the queue takes it and `early` is true, returns its arrival at
    /// the far end for an early delivery; otherwise schedules that arrival.
    #[inline(always)]
    pub(super) fn offer<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        early: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        // Most links are faster than their traffic.
        let free = self.interface.transmitter.asks_at <= now
            && (self.queue.is_empty() || self.drain(now, cx));
        let packet = transit.packets.get_mut(slot);
        let begin = match free {
            true => self.pass(now, slot, packet, cx),
            false => self.enqueue(now, slot, packet, cx),
        };
        self.interface.note_length(now, &self.queue, cx);
        let Some(begin) = begin else {
            transit.packets.release(slot);
            return None;
        };
        self.interface.capture_departure(begin, slot, transit, cx);
        self.interface.bleach(slot, transit);
        if early {
            return Some(self.interface.propagation.arrival(self.free_at));
        }
        self.interface.propagation.launch(self.free_at, slot, cx);
        None
    }

    /// A packet finds the link free. Returns when its transmission begins; `None` if the queue drops it.
    #[inline(always)]
    fn pass<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        packet: &mut InFlight,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        self.fall_idle();
        let marked = self.queue.stats().marked;
        let queued = QueuedPacket::new(slot, packet, now);
        let passed = self.queue.pass(now, queued, &mut self.rng, &mut |_, _| {});
        self.note_mark(marked, packet, cx);
        if passed.is_none() {
            cx.records.drop(packet, self.interface.direction);
            return None;
        }
        let begin = self.interface.transmitter.take(now, packet.wire_bytes);
        if self.interface.notes_passes {
            self.interface.note_pass(now, begin, packet, cx);
        }
        self.free_at = self.interface.transmitter.sent_at;
        self.interface.transmitter.idle = false;
        Some(begin)
    }

    /// A packet has to wait. Returns when its transmission begins; `None` if the queue drops it.
    fn enqueue<R>(
        &mut self,
        now: Time,
        slot: Slot,
        packet: &mut InFlight,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        let marked = self.queue.stats().marked;
        let queued = QueuedPacket::new(slot, packet, now);
        let mut lost = false;
        self.queue.enqueue(now, queued, &mut self.rng, &mut |_, _| lost = true);
        self.note_mark(marked, packet, cx);
        if lost {
            cx.records.drop(packet, self.interface.direction);
            return None;
        }
        let begin = self.free_at;
        packet.wait(now, begin);
        self.free_at = begin + self.interface.transmitter.transmission_time(packet.wire_bytes);
        Some(begin)
    }

    /// Copies a mark of the queue to the packet. `before`: the queue's count of marks until then.
    fn note_mark<R>(&mut self, before: u64, packet: &mut InFlight, cx: &mut Context<'_, R>) {
        if self.queue.stats().marked != before {
            packet.run.ecn = Ecn::Ce;
            cx.records.mark(packet, self.interface.direction);
        }
    }

    /// The transmitter asks the empty queue for a packet, unless it is idle already.
    #[inline]
    fn fall_idle(&mut self) {
        if !self.interface.transmitter.idle {
            let nothing = self.queue.dequeue(
                self.interface.transmitter.asks_at,
                &mut self.rng,
                &mut |_, _| {},
            );
            debug_assert!(nothing.is_none(), "nothing waits");
            self.interface.transmitter.idle = true;
        }
    }

    /// True if a packet arrives for certain once the queue has taken it.
    pub(super) fn can_deliver_early(&self) -> bool {
        self.interface.propagation.is_perfect()
    }

    /// The first packet in flight arrives.
    #[inline(always)]
    pub(super) fn take_arrival<R>(
        &mut self,
        _now: Time,
        _transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<(Slot, bool)> {
        self.interface.propagation.take_arrival(cx)
    }

    /// Catches up with the transmissions that have begun until `now`.
    pub(super) fn advance<R: Recorder>(
        &mut self,
        now: Time,
        _transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) {
        if self.interface.transmitter.is_due(now) {
            self.drain(now, cx);
        }
        if self.interface.transmitter.is_due(now) {
            self.fall_idle();
        }
    }

    /// Begins transmissions until `now`, or until nothing waits. True if the link is free then.
    #[inline(always)]
    fn drain<R: Recorder>(&mut self, now: Time, cx: &mut Context<'_, R>) -> bool {
        while self.interface.transmitter.asks_at <= now {
            if !self.begin_transmission(cx) {
                return true;
            }
        }
        false
    }

    /// The transmitter takes the packet that it asks for. False if none waits.
    #[inline(never)]
    fn begin_transmission<R: Recorder>(&mut self, cx: &mut Context<'_, R>) -> bool {
        if self.queue.is_empty() {
            return false;
        }
        let at = self.interface.transmitter.asks_at;
        let next = self.queue.dequeue(at, &mut self.rng, &mut |_, _| {});
        let Some(next) = next else { return false };
        let begin = self.interface.transmitter.take(at, next.wire_bytes);
        self.interface.note_departure(at, next.wire_bytes, begin - next.arrived, cx);
        self.interface.note_length(at, &self.queue, cx);
        true
    }
}

impl DecidesAtEnqueue<DropTail<QueuedPacket>> {
    /// As [`DecidesAtEnqueue::offer`], with a short way for packets that find a plain link free. Most links are so
    /// most of the time.
    #[inline(always)]
    pub(super) fn offer_plain<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        early: bool,
        transit: &mut Transit,
        cx: &mut Context<'_, R>,
    ) -> Option<Time> {
        let free = self.interface.transmitter.asks_at <= now && self.queue.is_empty();
        if !(free && self.interface.is_plain) || cx.recorder.wants_packets() {
            return self.offer_apart(now, slot, early, transit, cx);
        }
        let queued = QueuedPacket::new(slot, transit.packets.get(slot), now);
        if self.queue.pass(now, queued, &mut self.rng, &mut |_, _| {}).is_none() {
            drop_packet(slot, self.interface.direction, transit, cx.records);
            return None;
        }
        self.free_at = self.interface.transmitter.take_free(now, queued.wire_bytes);
        let arrival = self.interface.propagation.arrival(self.free_at);
        if early {
            return Some(arrival);
        }
        self.interface.propagation.launch_on_time(arrival, slot, cx);
        None
    }
}

#[cold]
fn drop_packet(slot: Slot, queue: LinkDirection, transit: &mut Transit, records: &mut Records) {
    records.drop(transit.packets.get(slot), queue);
    transit.packets.release(slot);
}
