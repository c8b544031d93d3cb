//! What all channels share behind their queue: a transmitter and a pipe of packets on their way.

use super::Shared;
use super::wire::{Fate, Wire};
use crate::event::Place;
use crate::packet::Slot;
use crate::record::{Context, QueueRecord, Recorder};
use crate::scenario::model::{self, LinkDirection};
use std::collections::VecDeque;
use windlass_aqm::{Packet, Queue};
use windlass_base::{BitRate, Rng, Span, Time};

/// A transmitter, and the packets that it has been given.
#[derive(Debug)]
// In the order of need.
#[repr(C)]
pub(super) struct Line {
    pipe: VecDeque<InPipe>,
    /// When the device asks the queue for a packet again.
    pub(super) asks_at: Time,
    /// When all that the device has taken from the queue has been transmitted.
    pub(super) sent_at: Time,
    /// The last packet's time and size: most are followed by one of their size, and divisions are
    /// slow.
    last_transmission: (Span, u32),
    delay: Span,
    /// What the device takes ahead of the wire.
    device_queue: Span,
    /// True if the device has asked for a packet and got none.
    pub(super) idle: bool,
    /// What goes wrong on the way; `None` if nothing ever does.
    wire: Option<Box<Wire>>,
    /// How long its queue was, if that is reported.
    pub(super) record: Option<Box<QueueRecord>>,
    /// Where its arrivals wait for their time; given at the first one.
    place: Option<Place>,
    pub(super) direction: LinkDirection,
    rate: Option<BitRate>,
    /// The fates of those in the pipe that do not arrive on time, in order.
    mishaps: VecDeque<Fate>,
}

/// A packet whose arrival is known. One that is lost or late keeps its place, so that the channel
/// has an event as long as it has work.
#[derive(Copy, Clone, Debug)]
struct InPipe {
    arrival: Time,
    /// When it became known.
    since: Time,
    packet: Slot,
    /// False if it is lost, or late.
    on_time: bool,
}

/// A packet that its last channel has handed over to its destination.
#[derive(Copy, Clone, Debug)]
pub(crate) struct HandedOver {
    /// When it is there.
    pub(crate) arrival: Time,
    /// When that became known.
    pub(crate) since: Time,
    pub(crate) packet: Slot,
    /// By which channel.
    pub(super) channel: u32,
}

impl Line {
    pub(super) fn new(
        direction: LinkDirection,
        spec: &model::Channel,
        wire_rng: Rng,
        steady_from: Time,
        watched: bool,
    ) -> Line {
        Line {
            direction,
            rate: spec.rate,
            last_transmission: (Span::ZERO, 0),
            delay: spec.delay,
            device_queue: spec.device_queue,
            wire: Wire::new(spec.loss.clone(), spec.reorder, wire_rng).map(Box::new),
            idle: true,
            asks_at: Time::ZERO,
            sent_at: Time::ZERO,
            pipe: VecDeque::new(),
            place: None,
            mishaps: VecDeque::new(),
            record: watched.then(|| Box::new(QueueRecord::new(steady_from))),
        }
    }

    /// True if whatever is sent arrives, and in order.
    pub(super) fn is_perfect(&self) -> bool {
        self.wire.is_none()
    }

    /// True if the device will have asked for a packet by `now`.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        !self.idle && self.asks_at <= now
    }

    /// How long a packet of this size takes to be put on the link.
    #[inline]
    pub(super) fn transmission_time(&mut self, bytes: u32) -> Span {
        if bytes != self.last_transmission.1 {
            let time = self.rate.map_or(Span::ZERO, |rate| rate.transmission_time(bytes));
            self.last_transmission = (time, bytes);
        }
        self.last_transmission.0
    }

    /// The device takes a packet from the queue. When its transmission begins.
    #[inline]
    pub(super) fn take(&mut self, at: Time, bytes: u32) -> Time {
        let begin = self.sent_at.max(at);
        self.sent_at = begin + self.transmission_time(bytes);
        self.asks_at = at + (self.sent_at - at).saturating_sub(self.device_queue);
        begin
    }

    /// When a packet is at the far end whose transmission ends at `end`.
    pub(super) fn arrival(&self, end: Time) -> Time {
        end + self.delay
    }

    /// Shows a packet that begins its transmission at end `a` of the link.
    pub(super) fn capture_departure<R: Recorder>(
        &self,
        begin: Time,
        packet: Slot,
        shared: &mut Shared,
        cx: &Context<'_, R>,
    ) {
        if !self.direction.reverse && cx.recorder.wants_packets() {
            shared.capture(begin, self.direction, packet);
        }
    }

    /// A packet whose transmission ends at `end` goes on its way.
    #[inline]
    pub(super) fn launch<R>(&mut self, end: Time, packet: Slot, cx: &mut Context<'_, R>) {
        let on_time = self.wire.is_none() || self.is_spared();
        let (arrival, since) = (self.arrival(end), cx.events.now());
        self.await_arrival(InPipe { arrival, since, packet, on_time }, cx);
    }

    /// A packet goes to the end of the pipe.
    #[inline]
    fn await_arrival<R>(&mut self, last: InPipe, cx: &mut Context<'_, R>) {
        if self.pipe.is_empty() {
            let place = *self.place.get_or_insert_with(|| cx.events.add_place());
            cx.events.set_arrival(place, last.arrival, last.since, self.number());
        }
        self.pipe.push_back(last);
    }

    /// True if nothing in the pipe waits for its arrival.
    pub(super) fn awaits_nothing(&self) -> bool {
        self.pipe.is_empty()
    }

    /// A packet that was handed over does need an event at its arrival.
    pub(super) fn take_back<R>(&mut self, handed: HandedOver, cx: &mut Context<'_, R>) {
        let HandedOver { arrival, since, packet, .. } = handed;
        debug_assert!(self.pipe.back().is_none_or(|last| last.arrival <= arrival), "in order");
        self.await_arrival(InPipe { arrival, since, packet, on_time: true }, cx);
    }

    /// Draws the next packet's fate, and keeps it if it is not to arrive on time.
    #[cold]
    fn is_spared(&mut self) -> bool {
        let fate = self.wire.as_mut().map_or(Fate::Arrives, |wire| wire.fate());
        if fate != Fate::Arrives {
            self.mishaps.push_back(fate);
        }
        fate == Fate::Arrives
    }

    /// The first packet in the pipe, whose time has come; true if it arrives indeed.
    #[inline]
    pub(super) fn take_arrival<R>(&mut self, cx: &mut Context<'_, R>) -> Option<(Slot, bool)> {
        let InPipe { packet, on_time, .. } = self.pipe.pop_front()?;
        let place = self.place?;
        match self.pipe.front() {
            Some(next) => {
                let since = next.since.max(cx.events.now());
                cx.events.set_arrival(place, next.arrival, since, self.number());
            }
            None => cx.events.clear_arrival(place),
        }
        Some((packet, on_time))
    }

    /// What becomes of the packet taken from the pipe that does not arrive.
    pub(super) fn take_mishap(&mut self) -> Option<Fate> {
        self.mishaps.pop_front()
    }

    fn number(&self) -> u32 {
        super::channel::number(self.direction)
    }

    /// The length of the queue may have changed.
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
