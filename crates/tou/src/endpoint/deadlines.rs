use std::cmp::Reverse;
use std::collections::BinaryHeap;
use windlass_base::Time;

/// Wake-up times by key. A time that moves back leaves its entry where it is: whoever is woken too
/// early is asked again. A connection's retransmission timer moves with each ACK, and costs
/// nothing here.
#[derive(Debug)]
pub(crate) struct Deadlines<Key> {
    heap: BinaryHeap<Reverse<(Time, Key)>>,
}

impl<Key: Ord> Default for Deadlines<Key> {
    fn default() -> Deadlines<Key> {
        Deadlines { heap: BinaryHeap::new() }
    }
}

impl<Key: Ord + Copy> Deadlines<Key> {
    /// `entered` is the earliest time that stands here for `key`, kept by the caller.
    pub(crate) fn enter(&mut self, entered: &mut Option<Time>, wanted: Option<Time>, key: Key) {
        if let Some(time) = wanted
            && entered.is_none_or(|earliest| time < earliest)
        {
            self.heap.push(Reverse((time, key)));
            *entered = Some(time);
        }
    }

    /// The earliest; perhaps too early.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, _))| *time)
    }

    /// An entry whose time has come.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, Key)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
