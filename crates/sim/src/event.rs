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

#[derive(Copy, Clone, Debug)]
struct Entry {
    /// Time in the upper half; in the lower the number of insertions before this one, so that
    /// events of the same time come out in the order in which they went in. One number compares
    /// faster than two.
    key: u128,
    event: Event,
}

impl Entry {
    fn new(time: Time, order: u64, event: Event) -> Entry {
        Entry { key: u128::from(time.as_nanos()) << 64 | u128::from(order), event }
    }

    fn time(&self) -> Time {
        Time::from_nanos((self.key >> 64) as u64)
    }
}

/// Children of a node of the heap: four are half as deep as two, and share a cache line or two.
const ARITY: usize = 4;

/// Pending events in order of time, events of the same time in order of insertion.
///
/// Most events schedule their source's next one. So the root that was popped stays where it is
/// until it is known whether a new event takes its place: one way through the heap instead of two.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    /// True if the root was popped already.
    vacant: bool,
    inserted: u64,
}

impl EventQueue {
    pub(crate) fn schedule(&mut self, time: Time, event: Event) {
        let entry = Entry::new(time, self.inserted, event);
        self.inserted += 1;
        if self.vacant {
            self.vacant = false;
            self.sink(entry);
        } else {
            self.heap.push(entry);
            self.rise(entry);
        }
    }

    /// The next event, if it is due no later than `end`.
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, Event)> {
        if self.vacant {
            self.vacant = false;
            self.remove_root();
        }
        let first = *self.heap.first()?;
        if first.time() > end {
            return None;
        }
        self.vacant = true;
        Some((first.time(), first.event))
    }

    fn remove_root(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sink(last);
        }
    }

    /// Moves `entry` from the last place towards the root.
    fn rise(&mut self, entry: Entry) {
        let mut hole = self.heap.len() - 1;
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent].key < entry.key {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Puts `entry` in the place of the root and moves it down.
    fn sink(&mut self, entry: Entry) {
        let mut hole = 0;
        while let Some(child) = self.first_child(hole) {
            if entry.key < self.heap[child].key {
                break;
            }
            self.heap[hole] = self.heap[child];
            hole = child;
        }
        self.heap[hole] = entry;
    }

    /// The child of `parent` that comes first.
    fn first_child(&self, parent: usize) -> Option<usize> {
        let begin = parent * ARITY + 1;
        let children = self.heap.get(begin..)?;
        let mut first = 0;
        let mut key = children.first()?.key;
        for (number, child) in children.iter().take(ARITY).enumerate().skip(1) {
            if child.key < key {
                (first, key) = (number, child.key);
            }
        }
        Some(begin + first)
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
    fn events_after_the_end_stay() {
        let mut queue = EventQueue::default();
        queue.schedule(Time::from_nanos(10), Event::Udp { source: 0 });
        assert_eq!(queue.pop(Time::from_nanos(9)), None);
        assert!(queue.pop(Time::from_nanos(10)).is_some());
    }
}
