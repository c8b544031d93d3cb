//! The queue of pending events.

use windlass_base::Time;

/// What is due at some time. Each kind names its source by an index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The first packet in a channel's pipe reaches the far end.
    Arrival { channel: u32 },
    /// A packet that a channel held back reaches the far end.
    Late { slot: u32 },
    /// An endpoint's timer; stale unless the endpoint is still armed for this very time.
    Timer { endpoint: u32 },
    /// A TCP application starts, or opens its next connection.
    Start { flow: u32 },
    /// A TCP application stops.
    Stop { flow: u32 },
    /// A UDP source sends its next packet.
    Udp { source: u32 },
    /// A node's middleboxes want to be called.
    Middlebox { chain: u32 },
}

/// A pending event as one number, since one number compares and moves faster than three: from the
/// top 64 bits of time, 29 of order, 3 of kind, 32 of index.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

/// As many orders are told apart: insertions between two renumberings.
const ORDERS: u64 = 1 << 29;
const ORDER_SHIFT: u32 = 35;
const KIND_SHIFT: u32 = 32;

impl Entry {
    /// Behind all others.
    const NONE: Entry = Entry(u128::MAX);

    fn new(time: Time, order: u64, event: Event) -> Entry {
        let (kind, index): (u64, u32) = match event {
            Event::Arrival { channel } => (0, channel),
            Event::Late { slot } => (1, slot),
            Event::Timer { endpoint } => (2, endpoint),
            Event::Start { flow } => (3, flow),
            Event::Stop { flow } => (4, flow),
            Event::Udp { source } => (5, source),
            Event::Middlebox { chain } => (6, chain),
        };
        let low = order << ORDER_SHIFT | kind << KIND_SHIFT | u64::from(index);
        Entry(u128::from(time.as_nanos()) << 64 | u128::from(low))
    }

    fn time(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    fn event(self) -> Event {
        let index = self.0 as u32;
        match (self.0 as u64 >> KIND_SHIFT) & 7 {
            0 => Event::Arrival { channel: index },
            1 => Event::Late { slot: index },
            2 => Event::Timer { endpoint: index },
            3 => Event::Start { flow: index },
            4 => Event::Stop { flow: index },
            5 => Event::Udp { source: index },
            _ => Event::Middlebox { chain: index },
        }
    }

    fn with_order(self, order: u64) -> Entry {
        Entry::new(self.time(), order, self.event())
    }
}

/// Children of a node of the heap: four are half as deep as two, and fill a cache line.
const ARITY: usize = 4;

/// Pending events in order of time, events of the same time in order of insertion.
///
/// Most events schedule their source's next one. So the root that was popped stays where it is
/// until it is known whether a new event takes its place: one way through the heap instead of two.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    /// The first `len` are pending; behind them up to the end of their group of siblings (and of
    /// any later one) stands [`Entry::NONE`], so that a group can be looked at as a whole.
    heap: Vec<Entry>,
    len: usize,
    /// True if the root was popped already.
    vacant: bool,
    /// The order of the next insertion.
    next_order: u64,
}

impl EventQueue {
    pub(crate) fn schedule(&mut self, time: Time, event: Event) {
        if self.next_order == ORDERS {
            self.renumber();
        }
        let entry = Entry::new(time, self.next_order, event);
        self.next_order += 1;
        if self.vacant {
            self.vacant = false;
            self.sink(entry);
        } else {
            self.push(entry);
        }
    }

    /// The next event, if it is due no later than `end`.
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, Event)> {
        if self.vacant {
            self.vacant = false;
            self.remove_root();
        }
        let first = *self.heap.first()?;
        if first.time() > end || first == Entry::NONE {
            return None;
        }
        self.vacant = true;
        Some((first.time(), first.event()))
    }

    fn remove_root(&mut self) {
        self.len -= 1;
        let last = self.heap[self.len];
        self.heap[self.len] = Entry::NONE;
        if self.len > 0 {
            self.sink(last);
        }
    }

    /// Gives the pending events, whose order stays, the first orders. A sorted list is a heap.
    #[cold]
    fn renumber(&mut self) {
        let pending = &mut self.heap[..self.len];
        pending.sort_unstable();
        for (order, entry) in (0..).zip(pending) {
            *entry = entry.with_order(order);
        }
        self.next_order = self.len as u64;
    }

    fn push(&mut self, entry: Entry) {
        if self.len == self.heap.len() {
            // The root, or a group of siblings.
            let room = if self.len == 0 { 1 } else { self.len + ARITY };
            self.heap.resize(room, Entry::NONE);
        }
        self.len += 1;
        self.rise(entry);
    }

    /// Moves `entry` from the last place towards the root.
    fn rise(&mut self, entry: Entry) {
        let mut hole = self.len - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] < entry {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Puts `entry` in the place of the root and moves it down.
    fn sink(&mut self, entry: Entry) {
        let heap = self.heap.as_mut_slice();
        let mut hole = 0;
        loop {
            let begin = hole * ARITY + 1;
            let Some(&[a, b, c, d]) = heap.get(begin..).and_then(|rest| rest.first_chunk()) else {
                break;
            };
            let left = usize::from(b < a);
            let right = 2 + usize::from(d < c);
            let place = begin + if c.min(d) < a.min(b) { right } else { left };
            let child = heap[place];
            if entry < child {
                break;
            }
            heap[hole] = child;
            hole = place;
        }
        heap[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Rng;

    #[test]
    fn events_come_in_order_of_time_then_of_insertion() {
        let mut rng = Rng::new(5);
        let mut queue = EventQueue::default();
        let mut expected = Vec::new();
        for n in 0..2_000 {
            let time = Time::from_nanos(rng.below(50));
            queue.schedule(time, Event::Start { flow: n });
            expected.push((time, n));
            if rng.chance(0.3) {
                expected.sort();
                let (time, flow) = expected.remove(0);
                assert_eq!(queue.pop(Time::MAX), Some((time, Event::Start { flow })));
            }
        }
        expected.sort();
        for (time, flow) in expected {
            assert_eq!(queue.pop(Time::MAX), Some((time, Event::Start { flow })));
        }
        assert_eq!(queue.pop(Time::MAX), None);
    }

    #[test]
    fn events_keep_their_order_when_orders_run_out() {
        let mut queue = EventQueue { next_order: ORDERS - 3, ..EventQueue::default() };
        let now = Time::from_nanos(7);
        for flow in 0..10 {
            queue.schedule(now, Event::Start { flow });
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop(now)).collect();
        let expected: Vec<_> = (0..10).map(|flow| (now, Event::Start { flow })).collect();
        assert_eq!(order, expected);
        assert!(queue.next_order < 20);
    }

    #[test]
    fn events_come_out_as_they_went_in() {
        let events = [
            Event::Arrival { channel: u32::MAX },
            Event::Late { slot: 1 },
            Event::Timer { endpoint: 1 << 31 },
            Event::Start { flow: 0 },
            Event::Stop { flow: 9 },
            Event::Udp { source: 3 },
            Event::Middlebox { chain: u32::MAX },
        ];
        let time = Time::from_nanos(u64::MAX - 1);
        for event in events {
            let entry = Entry::new(time, ORDERS - 1, event);
            assert_eq!((entry.time(), entry.event()), (time, event));
        }
    }

    #[test]
    fn events_after_the_end_stay() {
        let mut queue = EventQueue::default();
        queue.schedule(Time::from_nanos(10), Event::Udp { source: 0 });
        assert_eq!(queue.pop(Time::from_nanos(9)), None);
        assert!(queue.pop(Time::from_nanos(10)).is_some());
    }
}
