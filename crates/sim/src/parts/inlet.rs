//! The far end of a channel whose packets come from another part of the run.
//!
//! In one thread the packets in flight are a list, and its first one is the channel's pending event. The event
//! becomes pending when the packet enters an empty list, or when the packet before it arrives. An inlet learns of a
//! packet at the end of a window, and finds out which it was.

use super::order::Sequence;
use crate::event::{ArrivalSlot, EventQueue};
use crate::network::Export;
use crate::packet::Slot;
use std::collections::VecDeque;
use windlass_base::Time;

/// The packets in flight towards this part on a channel.
#[derive(Debug)]
pub(crate) struct Inlet {
    channel: u32,
    slot: ArrivalSlot,
    in_flight: VecDeque<Flying>,
    emptied: Option<Emptied>,
}

#[derive(Copy, Clone, Debug)]
struct Flying {
    arrival: Time,
    since: Time,
    packet: Slot,
}

/// The arrival that left no packet in flight.
#[derive(Copy, Clone, Debug)]
struct Emptied {
    at: Time,
    window: usize,
    /// Its index in the part's log.
    event: u32,
    /// The order of insertion that a packet behind it would have.
    order: u32,
}

impl Inlet {
    pub(crate) fn new(channel: u32, slot: ArrivalSlot) -> Inlet {
        Inlet { channel, slot, in_flight: VecDeque::new(), emptied: None }
    }

    /// A packet is in flight, which part `from` sent in this window. `part` is the inlet's own.
    pub(crate) fn add(
        &mut self,
        [from, part]: [usize; 2],
        window: usize,
        (export, packet): (&Export, Slot),
        sequence: &Sequence,
        order_of: impl Fn(usize, u32) -> u32,
        events: &mut EventQueue,
    ) {
        let Export { arrival, since, order, event, .. } = *export;
        if self.in_flight.is_empty() {
            let sent = sequence.place(from, event);
            // The list was not empty yet when the packet entered it.
            let behind = self.emptied.filter(|emptied| {
                emptied.window == window && sequence.place(part, emptied.event) > sent
            });
            let (since, order) = match behind {
                Some(before) => (since.max(before.at), order_of(part, before.order)),
                None => (since, order_of(from, order)),
            };
            events.set_ordered_arrival(self.slot, arrival, since, order, self.channel);
        }
        self.in_flight.push_back(Flying { arrival, since, packet });
    }

    /// Takes the packet that arrives now, by event `event` in the part's log.
    pub(crate) fn take(
        &mut self,
        now: Time,
        window: usize,
        event: u32,
        events: &mut EventQueue,
    ) -> Option<Slot> {
        let taken = self.in_flight.pop_front()?;
        match self.in_flight.front() {
            Some(next) => {
                events.set_arrival(self.slot, next.arrival, next.since.max(now), self.channel);
            }
            None => {
                events.clear_arrival(self.slot);
                self.emptied = Some(Emptied { at: now, window, event, order: events.take_order() });
            }
        }
        Some(taken.packet)
    }
}
