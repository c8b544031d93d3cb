//! A channel whose queue decides when a packet leaves: CoDel, FQ-CoDel, and those of other
//! crates.

use super::Shared;
use super::line::Line;
use super::queued::Queued;
use crate::packet::Slot;
use crate::record::{Context, Recorder, Records};
use crate::scenario::model::LinkDirection;
use windlass_aqm::Queue;
use windlass_base::{Rng, Time};

/// A queue that chooses at departure, and the line behind it.
///
/// When a packet begins its transmission, the time of its arrival is known; so departures have no
/// events. The channel catches up with them, each at its own time, whenever it is asked next. That
/// is soon enough, since whatever leaves the queue after the packet in transmission arrives after
/// it, too.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Scheduled<Q> {
    pub(super) line: Line,
    pub(super) queue: Q,
    rng: Rng,
}

impl<Q: Queue<Queued>> Scheduled<Q> {
    pub(super) fn new(queue: Q, line: Line, rng: Rng) -> Scheduled<Q> {
        Scheduled { line, queue, rng }
    }

    /// A packet arrives at the queue.
    pub(super) fn offer<R: Recorder>(
        &mut self,
        now: Time,
        slot: Slot,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) {
        self.advance(now, shared, cx);
        let direction = self.line.direction;
        let queued = Queued::new(slot, shared.packets.get(slot));
        let dropped = &mut |lost: Queued, _| drop_packet(lost.slot, direction, shared, cx.records);
        self.queue.enqueue(now, queued, &mut self.rng, dropped);
        if self.line.idle && !self.queue.is_empty() {
            self.line.idle = false;
            self.line.asks_at = now;
            self.advance(now, shared, cx);
        }
        self.line.note_length(now, &self.queue, cx);
    }

    /// Catches up with the transmissions that have begun until `now`.
    pub(super) fn advance<R: Recorder>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) {
        while self.line.is_due(now) {
            let at = self.line.asks_at;
            self.begin_transmission(at, shared, cx);
            self.line.note_length(at, &self.queue, cx);
        }
    }

    /// Puts the next packet on the link, or falls idle.
    fn begin_transmission<R: Recorder>(
        &mut self,
        at: Time,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) {
        let direction = self.line.direction;
        let dropped = &mut |lost: Queued, _| drop_packet(lost.slot, direction, shared, cx.records);
        let Some(next) = self.queue.dequeue(at, &mut self.rng, dropped) else {
            self.line.idle = true;
            return;
        };
        let packet = shared.packets.get_mut(next.slot);
        if next.ecn != packet.run.ecn {
            packet.run.ecn = next.ecn;
            cx.records.mark(packet, direction);
        }
        let begin = self.line.take(at, next.wire_bytes);
        self.line.capture_departure(begin, next.slot, shared, cx);
        self.line.launch(self.line.sent_at, next.slot, cx);
    }

    /// The first packet in the pipe arrives. What has begun its transmission before is put behind it
    /// first, so that its arrival can be scheduled.
    pub(super) fn take_arrival<R: Recorder>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) -> Option<(Slot, bool)> {
        self.advance(now, shared, cx);
        self.line.take_arrival(cx)
    }
}

fn drop_packet(slot: Slot, queue: LinkDirection, shared: &mut Shared, records: &mut Records) {
    records.drop(shared.packets.get(slot), queue);
    shared.packets.release(slot);
}
