//! The order of events of the same time in several parts: that of one thread.
//!
//! One thread orders such events by the times since which they were pending, then by the order of their
//! insertion ([`EventQueue`](crate::event::EventQueue)). The insertions of a part are in the same order as there,
//! but those of two parts have no order yet. At the end of a window each part shows the log of the events that it
//! has handled. Merged by the same rule, the logs are the sequence of one thread, and give each insertion its
//! number in it. Of two events in the logs that tie, each was inserted in an earlier window, or by an event before
//! it in the logs: its number is known.

use crate::event::EventKey;

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
    /// Behind the last one stands one that never comes, with the order of the next insertion.
    events: Vec<Handled>,
}

impl Log {
    /// Forgets all events.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }

    /// Adds an event, which begins now.
    pub(crate) fn add(&mut self, handled: Handled) {
        self.events.push(handled);
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Ends the window.
    pub(crate) fn end(&mut self, next_order: u32) {
        self.events.push(Handled { key: EventKey::NONE, first_order: next_order });
    }
}

/// The merged logs of a window.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// The first order that was given in the window.
    base: u32,
    parts: Vec<Merged>,
}

/// The events of a part in the merged logs.
#[derive(Debug, Default)]
struct Merged {
    /// By event.
    places: Vec<Place>,
    /// By insertion: the order in the whole run.
    orders: Vec<u32>,
    /// The first event that has no place yet.
    head: usize,
}

/// The place of an event in the merged logs.
#[derive(Copy, Clone, Debug, Default)]
struct Place {
    in_window: u32,
    /// The order of its first insertion in the whole run.
    first_order: u32,
}

impl Sequence {
    /// Merges the logs of all parts. Orders below `base` are those of earlier windows. Returns the order of the
    /// next insertion.
    pub(crate) fn merge(&mut self, base: u32, logs: &[&Log]) -> u32 {
        self.base = base;
        self.parts.resize_with(logs.len(), Merged::default);
        for (part, log) in self.parts.iter_mut().zip(logs) {
            part.head = 0;
            part.places.clear();
            part.places.resize(log.len(), Place::default());
        }
        let events: usize = logs.iter().map(|log| log.len() - 1).sum();
        let mut next = base;
        for in_window in 0..events as u32 {
            let part = match logs {
                [first, second] => self.first_of_two(first, second),
                _ => self.first(logs),
            };
            let Merged { places, head, .. } = &mut self.parts[part];
            places[*head] = Place { in_window, first_order: next };
            let first_order = logs[part].events[*head].first_order;
            *head += 1;
            next += logs[part].events[*head].first_order - first_order;
        }
        self.parts.iter_mut().zip(logs).for_each(|(part, log)| part.list_orders(log));
        next
    }

    /// Which of two parts has the event that comes first. Either is as likely, and no branch depends on it.
    #[inline(always)]
    fn first_of_two(&self, first: &Log, second: &Log) -> usize {
        let a = first.events[self.parts[0].head].key;
        let b = second.events[self.parts[1].head].key;
        let (left, right) = (a.without_order(), b.without_order());
        if left == right {
            return usize::from(self.ties_before([first, second], [0, 1], [a, b]));
        }
        usize::from(right < left)
    }

    /// The part whose next event comes first; the first of several that handle the same one.
    fn first(&self, logs: &[&Log]) -> usize {
        let key_of = |part: usize| logs[part].events[self.parts[part].head].key;
        let mut first = 0;
        for part in 1..logs.len() {
            let keys = [key_of(first), key_of(part)];
            let [before, this] = keys.map(EventKey::without_order);
            let logs = [logs[first], logs[part]];
            if this < before || this == before && self.ties_before(logs, [first, part], keys) {
                first = part;
            }
        }
        first
    }

    /// True if the event of the second of two parts was inserted before that of the first.
    #[cold]
    fn ties_before(&self, logs: [&Log; 2], parts: [usize; 2], keys: [EventKey; 2]) -> bool {
        let order = |which: usize| {
            let order = keys[which].order();
            if order < self.base || keys[which] == EventKey::NONE {
                return order;
            }
            // An event before it in the log has inserted it: the last one that began before.
            let events = &logs[which].events;
            let inserter = events.partition_point(|event| event.first_order <= order) - 1;
            let place = self.parts[parts[which]].places[inserter];
            place.first_order + (order - events[inserter].first_order)
        };
        order(1) < order(0)
    }

    /// The order in the whole run that an order of a part has.
    #[inline]
    pub(crate) fn order(&self, part: usize, order: u32) -> u32 {
        match order.checked_sub(self.base) {
            None => order,
            Some(insertion) => self.parts[part].orders[insertion as usize],
        }
    }

    /// The place in the window of the event of this index in a part's log.
    pub(crate) fn place(&self, part: usize, index: u32) -> u32 {
        self.parts[part].places[index as usize].in_window
    }
}

impl Merged {
    /// Lists the orders of all insertions, once every event has its place.
    fn list_orders(&mut self, log: &Log) {
        let [Some(first), Some(last)] = [log.events.first(), log.events.last()] else { return };
        self.orders.clear();
        self.orders.resize((last.first_order - first.first_order) as usize, 0);
        let mut orders = self.orders.iter_mut();
        for (event, place) in log.events.windows(2).zip(&self.places) {
            let insertions = event[1].first_order - event[0].first_order;
            for in_run in place.first_order..place.first_order + insertions {
                if let Some(order) = orders.next() {
                    *order = in_run;
                }
            }
        }
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
        let log = |tie, next_order| {
            let mut log = Log { events: vec![handled(5, tie, 10), handled(9, 10, 11)] };
            log.end(next_order);
            log
        };
        let (first, second) = (log(4, 13), log(2, 12));
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
