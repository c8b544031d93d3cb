//! An event loop without work: a bound on the speed of any simulation.

use crate::event::{ArrivalSlot, Event, EventQueue};
use windlass_base::{Rng, Span, Time};

/// Takes `events` events from the queue of a simulation. As many as `pending` are in it at any time,
/// and each does nothing but schedule its source's next one. Returns the time of the last.
pub fn empty_event_loop(pending: u32, events: u64) -> Time {
    let mut rng = Rng::new(1);
    // Different periods, as those of links and timers: neighbours keep changing their order.
    let periods: Vec<Span> = (0..pending).map(|_| period(&mut rng)).collect();
    let mut queue = EventQueue::default();
    let slots: Vec<ArrivalSlot> = periods.iter().map(|_| queue.add_arrival_slot()).collect();
    for (source, period) in (0..).zip(&periods) {
        queue.set_arrival(slots[source as usize], Time::ZERO + *period, Time::ZERO, source);
    }
    let mut last = Time::ZERO;
    for _ in 0..events {
        let Some((now, Event::Arrival { channel: source })) = queue.pop(Time::MAX) else { break };
        let (slot, period) = (slots[source as usize], periods[source as usize]);
        queue.set_arrival(slot, now + period, now, source);
        last = now;
    }
    last
}

fn period(rng: &mut Rng) -> Span {
    Span::from_micros(100) + Span::from_nanos(rng.below(2_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_source_is_due_at_each_of_its_periods() {
        let period = period(&mut Rng::new(1));
        assert_eq!(empty_event_loop(1, 10), Time::ZERO + period * 10);
    }

    #[test]
    fn without_sources_nothing_is_due() {
        assert_eq!(empty_event_loop(0, 10), Time::ZERO);
    }
}
