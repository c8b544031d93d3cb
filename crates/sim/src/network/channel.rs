//! One direction of a link: a queue, a transmitter, and a pipe of packets on their way.

use super::Shared;
use super::wire::{Fate, Wire};
use crate::event::Event;
use crate::packet::Handle;
use crate::record::{Context, QueueRecord, Recorder};
use crate::scenario::model::{self, LinkDirection};
use std::collections::VecDeque;
use windlass_aqm::{ConfigError, Discipline, Queue};
use windlass_base::{BitRate, Rng, Span, Time};

/// One direction of a link.
///
/// When a packet begins its transmission, the time of its arrival is known; so the only event that a
/// channel has pending is the arrival of the first packet in its pipe. Departures have none: the
/// channel catches up with them, each at its own time, whenever it is asked next
/// ([`Channel::advance`]). That is soon enough, since whatever leaves the queue after the packet in
/// transmission arrives after it, too.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) direction: LinkDirection,
    queue: Discipline<Handle>,
    queue_rng: Rng,
    transmitter: Transmitter,
    delay: Span,
    wire: Wire,
    /// True if the transmitter has asked for a packet and got none.
    idle: bool,
    /// When the transmission going on ends.
    busy_until: Time,
    pipe: VecDeque<InPipe>,
    pub(crate) record: QueueRecord,
}

/// Tells how long packets take to be put on the link.
#[derive(Debug)]
struct Transmitter {
    rate: Option<BitRate>,
    /// The last packet's size and time: most are followed by one of their size, and divisions are
    /// slow.
    last: (u32, Span),
}

impl Transmitter {
    fn time_for(&mut self, bytes: u32) -> Span {
        if bytes != self.last.0 {
            let time = self.rate.map_or(Span::ZERO, |rate| rate.transmission_time(bytes));
            self.last = (bytes, time);
        }
        self.last.1
    }
}

/// A packet that has begun its transmission. One that is lost or late keeps its place, so that the
/// channel has an event as long as it has work.
#[derive(Copy, Clone, Debug)]
struct InPipe {
    arrival: Time,
    packet: Handle,
    fate: Fate,
}

impl Channel {
    pub(crate) fn new(
        direction: LinkDirection,
        spec: &model::Channel,
        queue_rng: Rng,
        wire_rng: Rng,
        steady_from: Time,
    ) -> Result<Channel, ConfigError> {
        Ok(Channel {
            direction,
            queue: spec.queue.build(spec.rate)?,
            queue_rng,
            transmitter: Transmitter { rate: spec.rate, last: (0, Span::ZERO) },
            delay: spec.delay,
            wire: Wire::new(spec.loss.clone(), spec.reorder, wire_rng),
            idle: true,
            busy_until: Time::ZERO,
            pipe: VecDeque::new(),
            record: QueueRecord::new(steady_from),
        })
    }

    pub(crate) fn queue(&self) -> &Discipline<Handle> {
        &self.queue
    }

    /// The number by which events know it.
    pub(crate) fn number(&self) -> u32 {
        number(self.direction)
    }

    /// A packet arrives at the queue.
    pub(crate) fn offer<R: Recorder>(
        &mut self,
        now: Time,
        packet: Handle,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) {
        self.advance(now, shared, cx);
        let direction = self.direction;
        let marked = self.queue.stats().marked;
        self.queue.enqueue(now, packet, &mut self.queue_rng, &mut |lost: Handle, _| {
            shared.bodies.release(lost.body);
            cx.records.drop(&lost, direction);
        });
        if self.queue.stats().marked != marked {
            cx.records.mark(&packet, direction);
        }
        if self.idle && !self.queue.is_empty() {
            self.wake(now, shared, cx);
        }
        self.note_length(now, cx);
    }

    /// The first packet in the pipe arrives: what it is, and what has become of it.
    pub(crate) fn take_arrival<R: Recorder>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) -> Option<(Handle, Fate)> {
        let InPipe { packet, fate, .. } = self.pipe.pop_front()?;
        self.advance(now, shared, cx);
        self.schedule_arrival(cx);
        Some((packet, fate))
    }

    /// Catches up with the transmissions that have begun until `now`.
    pub(crate) fn advance<R: Recorder>(
        &mut self,
        now: Time,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) {
        while !self.idle && self.busy_until <= now {
            let at = self.busy_until;
            self.begin_transmission(at, shared, cx);
            self.note_length(at, cx);
        }
    }

    /// The transmitter, idle so far, has something to do.
    fn wake<R: Recorder>(&mut self, now: Time, shared: &mut Shared, cx: &mut Context<'_, R>) {
        let pipe_was_empty = self.pipe.is_empty();
        self.idle = false;
        self.busy_until = now;
        self.advance(now, shared, cx);
        if pipe_was_empty {
            self.schedule_arrival(cx);
        }
    }

    /// Puts the next packet on the link, or falls idle.
    fn begin_transmission<R: Recorder>(
        &mut self,
        at: Time,
        shared: &mut Shared,
        cx: &mut Context<'_, R>,
    ) {
        let direction = self.direction;
        let marked = self.queue.stats().marked;
        let next = self.queue.dequeue(at, &mut self.queue_rng, &mut |lost: Handle, _| {
            shared.bodies.release(lost.body);
            cx.records.drop(&lost, direction);
        });
        let Some(packet) = next else {
            self.idle = true;
            return;
        };
        if self.queue.stats().marked != marked {
            cx.records.mark(&packet, direction);
        }
        if !self.direction.reverse && cx.recorder.wants_packets() {
            cx.recorder.packet(at, self.direction, &shared.view(&packet));
        }
        self.busy_until = at + self.transmitter.time_for(packet.wire_bytes);
        let arrival = self.busy_until + self.delay;
        self.pipe.push_back(InPipe { arrival, packet, fate: self.wire.fate() });
    }

    fn schedule_arrival<R>(&self, cx: &mut Context<'_, R>) {
        if let Some(first) = self.pipe.front() {
            cx.events.schedule(first.arrival, Event::Arrival { channel: self.number() });
        }
    }

    fn note_length<R: Recorder>(&mut self, at: Time, cx: &mut Context<'_, R>) {
        if self.record.update(at, &self.queue) {
            let (packets, average) = (self.queue.len_packets(), self.queue.average_packets());
            cx.recorder.queue_changed(at, self.direction, packets, average);
        }
    }
}

/// Channels are numbered in the order of links, forward before backward.
pub(crate) fn number(direction: LinkDirection) -> u32 {
    (direction.link * 2 + usize::from(direction.reverse)) as u32
}

/// The direction that has this number.
pub(crate) fn direction(number: u32) -> LinkDirection {
    LinkDirection { link: number as usize / 2, reverse: number % 2 == 1 }
}
