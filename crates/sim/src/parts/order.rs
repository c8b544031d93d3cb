//! The order of events of the same time in several parts: that of one thread.
//!
//! One thread orders such events by the times since which they were pending, then by the order of their
//! insertion ([`EventQueue`](crate::event::EventQueue)). The insertions of a part are in the same order as there,
//! but those of two parts have no order yet. At the end of a window each part shows the log of the events that it
//! has handled. Merged by the same rule, the logs are the sequence of one thread, and give each insertion its
//! number in it. Of two events in the logs that tie, each was inserted in an earlier window, or by an event before
//! it in the logs: its number is known.

use crate::event::EventKey;
use std::cmp::Ordering;

/// An event that a part has handled.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Handled {
    pub(crate) key: EventKey,
    /// The order of its first insertion.
    pub(crate) first_order: u32,
}

/// The events that a part has handled in a window, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Handled>,
    /// The order of the next insertion after the last of them.
    pub(crate) next_order: u32,
}

impl Log {
    /// Orders that the event of this index has taken.
    fn insertions(&self, index: usize) -> u32 {
        let next = self.events.get(index + 1).map_or(self.next_order, |next| next.first_order);
        next - self.events[index].first_order
    }
}

/// The merged logs of a window.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// The first order that was given in the window.
    base: u32,
    /// By part and insertion in the window: the order in the whole run.
    orders: Vec<Vec<u32>>,
    /// By part and event: the place in the window.
    places: Vec<Vec<u32>>,
    heads: Vec<usize>,
}

impl Sequence {
    /// Merges the logs of all parts. Orders below `base` are those of earlier windows. Returns the order of the
    /// next insertion.
    pub(crate) fn merge(&mut self, base: u32, logs: &[&Log]) -> u32 {
        self.base = base;
        for lists in [&mut self.orders, &mut self.places] {
            lists.resize_with(logs.len(), Vec::new);
            lists.iter_mut().for_each(Vec::clear);
        }
        self.heads.clear();
        self.heads.resize(logs.len(), 0);
        let mut next = base;
        let mut place = 0;
        while let Some(part) = self.first(logs) {
            let index = self.heads[part];
            let insertions = logs[part].insertions(index);
            self.orders[part].extend(next..next + insertions);
            next += insertions;
            self.places[part].push(place);
            place += 1;
            self.heads[part] += 1;
        }
        next
    }

    /// The part whose next event comes first; the first of several that handle the same one.
    fn first(&self, logs: &[&Log]) -> Option<usize> {
        let mut first: Option<(usize, EventKey)> = None;
        for (part, log) in logs.iter().enumerate() {
            let Some(Handled { key, .. }) = log.events.get(self.heads[part]) else { continue };
            let is_first = first.is_none_or(|(other, before)| {
                let by_time = key.without_order().cmp(&before.without_order());
                let order =
                    || self.order(part, key.order()).cmp(&self.order(other, before.order()));
                by_time.then_with(order) == Ordering::Less
            });
            if is_first {
                first = Some((part, *key));
            }
        }
        first.map(|(part, _)| part)
    }

    /// The order in the whole run that an order of a part has.
    pub(crate) fn order(&self, part: usize, order: u32) -> u32 {
        match order.checked_sub(self.base) {
            None => order,
            Some(insertion) => self.orders[part][insertion as usize],
        }
    }

    /// The place in the window of the event of this index in a part's log.
    pub(crate) fn place(&self, part: usize, index: u32) -> u32 {
        self.places[part][index as usize]
    }
}

/// Small numbers for large orders, which keep their order.
#[derive(Debug, Default)]
pub(crate) struct Renumbering {
    base: u32,
    /// Orders from before the window that are in use.
    earlier: Vec<u32>,
}

impl Renumbering {
    /// Keeps the orders below `base` that are in use, and all from it on.
    pub(crate) fn new<'a>(base: u32, in_use: impl Iterator<Item = &'a u32>) -> Renumbering {
        let mut earlier: Vec<u32> = in_use.copied().filter(|order| *order < base).collect();
        earlier.sort_unstable();
        earlier.dedup();
        Renumbering { base, earlier }
    }

    /// The small number of an order.
    pub(crate) fn of(&self, order: u32) -> u32 {
        match order.checked_sub(self.base) {
            None => self.earlier.partition_point(|earlier| *earlier < order) as u32,
            Some(later) => self.earlier.len() as u32 + later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Time;

    fn handled(nanos: u64, order: u32, first_order: u32) -> Handled {
        let key = EventKey { time: Time::from_nanos(nanos), tie: u64::from(order) };
        Handled { key, first_order }
    }

    #[test]
    fn insertions_are_numbered_as_one_thread_would() {
        // Two parts from order 10 on. At time 5 the second part's event was inserted first; each event inserts
        // one that is due at time 9.
        let first = Log { events: vec![handled(5, 4, 10), handled(9, 10, 11)], next_order: 13 };
        let second = Log { events: vec![handled(5, 2, 10), handled(9, 10, 11)], next_order: 12 };
        let mut sequence = Sequence::default();
        assert_eq!(sequence.merge(10, &[&first, &second]), 15);
        assert_eq!([10, 11, 12].map(|order| sequence.order(0, order)), [11, 13, 14]);
        assert_eq!([10, 11].map(|order| sequence.order(1, order)), [10, 12]);
        assert_eq!([0, 1].map(|index| sequence.place(0, index)), [1, 3]);
        assert_eq!([0, 1].map(|index| sequence.place(1, index)), [0, 2]);
        assert_eq!(sequence.order(1, 7), 7);
    }

    #[test]
    fn small_numbers_keep_the_order() {
        let numbers = Renumbering::new(1_000, [70, 3, 70, 999].iter());
        assert_eq!([3, 70, 999, 1_000, 1_007].map(|order| numbers.of(order)), [0, 1, 2, 3, 10]);
    }
}
