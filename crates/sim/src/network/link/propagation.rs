//! The propagation of packets from one end of a channel to the other, and the one event that a
//! channel has pending: the next arrival.

use super::impairments::{Fate, Impairments};
use crate::event::ArrivalSlot;
use crate::model::{self, LinkDirection};
use crate::network::numbering;
use crate::packet::Slot;
use crate::record::Context;
use std::collections::VecDeque;
use windlass_base::{Rng, Span, Time};

/// The packets in flight on a channel.
#[derive(Debug)]
// In the order of need.
#[repr(C)]
pub(super) struct Propagation {
    in_flight: VecDeque<Arrival>,
    delay: Span,
    /// `None` if every packet arrives, in order.
    impairments: Option<Box<Impairments>>,
    /// Slot of the pending arrival in the event queue; allocated at the first arrival.
    slot: Option<ArrivalSlot>,
    /// Number of the channel.
    channel: u32,
    /// Fates of the packets in flight that do not arrive on time, in order.
    mishaps: VecDeque<Fate>,
}

/// A packet whose arrival is known. A lost or late packet stays in the list, so that the channel
/// has an event as long as it has work.
#[derive(Copy, Clone, Debug)]
struct Arrival {
    at: Time,
    /// When the arrival became known.
    since: Time,
    packet: Slot,
    /// False if the packet is lost, or late.
    on_time: bool,
}

/// A packet that may be delivered early: its arrival at its destination is known.
#[derive(Copy, Clone, Debug)]
pub(crate) struct EarlyPacket {
    /// When the packet arrives.
    pub(crate) arrival: Time,
    /// When the arrival became known.
    pub(crate) since: Time,
    pub(crate) packet: Slot,
    /// Number of the last channel.
    pub(crate) channel: u32,
}

impl Propagation {
    pub(super) fn new(direction: LinkDirection, spec: &model::Channel, rng: Rng) -> Propagation {
        let impairments = Impairments::new(spec.loss.clone(), spec.reorder, rng);
        Propagation {
            in_flight: VecDeque::new(),
            delay: spec.delay,
            impairments: impairments.map(Box::new),
            slot: None,
            channel: numbering::number(direction),
            mishaps: VecDeque::new(),
        }
    }

    /// True if every packet arrives, in order.
    pub(super) fn is_perfect(&self) -> bool {
        self.impairments.is_none()
    }

    /// When a packet reaches the far end whose transmission ends at `end`.
    pub(super) fn arrival(&self, end: Time) -> Time {
        end + self.delay
    }

    /// A packet whose transmission ends at `end` propagates from then on.
    #[inline]
    pub(super) fn launch<R>(&mut self, end: Time, packet: Slot, cx: &mut Context<'_, R>) {
        let on_time = self.impairments.is_none() || self.draw_fate();
        let (at, since) = (self.arrival(end), cx.events.now());
        self.push(Arrival { at, since, packet, on_time }, cx);
    }

    /// A packet is certain to arrive at `at`.
    #[inline]
    pub(super) fn launch_on_time<R>(&mut self, at: Time, packet: Slot, cx: &mut Context<'_, R>) {
        let since = cx.events.now();
        self.push(Arrival { at, since, packet, on_time: true }, cx);
    }

    /// A packet arrives at `at`, unless an outage or an impairment loses it.
    pub(super) fn launch_varying<R>(
        &mut self,
        at: Time,
        lost: bool,
        packet: Slot,
        cx: &mut Context<'_, R>,
    ) {
        let on_time = !lost && self.draw_fate();
        if lost {
            self.mishaps.push_back(Fate::Lost);
        }
        let since = cx.events.now();
        self.push(Arrival { at, since, packet, on_time }, cx);
    }

    /// Appends the arrival that is known last.
    #[inline]
    fn push<R>(&mut self, last: Arrival, cx: &mut Context<'_, R>) {
        if self.in_flight.is_empty() {
            let slot = *self.slot.get_or_insert_with(|| cx.events.add_arrival_slot());
            cx.events.set_arrival(slot, last.at, last.since, self.channel);
        }
        self.in_flight.push_back(last);
    }

    /// True if no packet is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Schedules the arrival of a packet that is not delivered early after all.
    pub(super) fn schedule_arrival<R>(&mut self, early: EarlyPacket, cx: &mut Context<'_, R>) {
        let EarlyPacket { arrival, since, packet, .. } = early;
        debug_assert!(self.in_flight.back().is_none_or(|last| last.at <= arrival), "in order");
        self.push(Arrival { at: arrival, since, packet, on_time: true }, cx);
    }

    /// Draws the next packet's fate. Returns true if it arrives on time; keeps the fate otherwise.
    #[cold]
    fn draw_fate(&mut self) -> bool {
        let fate = self.impairments.as_mut().map_or(Fate::Arrives, |it| it.fate());
        if fate != Fate::Arrives {
            self.mishaps.push_back(fate);
        }
        fate == Fate::Arrives
    }

    /// Takes the first packet in flight, which is due; true if it arrives on time.
    #[inline]
    pub(super) fn take_arrival<R>(&mut self, cx: &mut Context<'_, R>) -> Option<(Slot, bool)> {
        let Arrival { packet, on_time, .. } = self.in_flight.pop_front()?;
        let slot = self.slot?;
        match self.in_flight.front() {
            Some(next) => {
                let since = next.since.max(cx.events.now());
                cx.events.set_arrival(slot, next.at, since, self.channel);
            }
            None => cx.events.clear_arrival(slot),
        }
        Some((packet, on_time))
    }

    /// Takes the fate of the last packet that [`Propagation::take_arrival`] returned as not on time.
    pub(super) fn take_mishap(&mut self) -> Option<Fate> {
        self.mishaps.pop_front()
    }
}
