use crate::Time;
use alloc::collections::BTreeSet;

/// Points in time, each with the key that is due then, in their order.
///
/// A key may have several entries. A caller that moves entries stores the time of each, and passes it
/// to [`Deadlines::set`] or [`Deadlines::schedule`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlines<Key> {
    entries: BTreeSet<(Time, Key)>,
}

impl<Key> Default for Deadlines<Key> {
    fn default() -> Deadlines<Key> {
        Deadlines { entries: BTreeSet::new() }
    }
}

impl<Key: Ord> FromIterator<(Time, Key)> for Deadlines<Key> {
    fn from_iter<Entries: IntoIterator<Item = (Time, Key)>>(entries: Entries) -> Deadlines<Key> {
        Deadlines { entries: entries.into_iter().collect() }
    }
}

impl<Key: Ord + Copy> Deadlines<Key> {
    /// Adds an entry.
    pub fn insert(&mut self, at: Time, key: Key) {
        self.entries.insert((at, key));
    }

    /// Removes an entry, if it is there.
    pub fn remove(&mut self, at: Time, key: Key) {
        self.entries.remove(&(at, key));
    }

    /// Moves the entry of `key` from `entered`, where the caller stores its time, to `wanted`; `None`
    /// is no entry.
    pub fn set(&mut self, entered: &mut Option<Time>, wanted: Option<Time>, key: Key) {
        if *entered == wanted {
            return;
        }
        if let Some(old) = core::mem::replace(entered, wanted) {
            self.remove(old, key);
        }
        if let Some(new) = wanted {
            self.insert(new, key);
        }
    }

    /// Like [`Deadlines::set`], but an entry that is earlier than `wanted` stays. The caller is then
    /// woken too early, and asks for the later time. This keeps the retransmission timer cheap, which
    /// each ACK moves.
    pub fn schedule(&mut self, entered: &mut Option<Time>, wanted: Option<Time>, key: Key) {
        // A stale entry would cause a useless wake-up. Pacing schedules an earlier time thousands of
        // times per second.
        if wanted.is_some_and(|time| entered.is_none_or(|entry| time < entry)) {
            self.set(entered, wanted, key);
        }
    }

    /// The earliest entry.
    pub fn first(&self) -> Option<(Time, Key)> {
        self.entries.first().copied()
    }

    /// The earliest time.
    pub fn next(&self) -> Option<Time> {
        self.first().map(|(at, _)| at)
    }

    /// Removes the earliest entry, if it is due at `now`. If the caller stores its time, it clears it.
    pub fn pop(&mut self, now: Time) -> Option<(Time, Key)> {
        self.next().filter(|at| *at <= now)?;
        self.entries.pop_first()
    }

    /// All entries, the earliest first.
    pub fn iter(&self) -> impl Iterator<Item = (Time, Key)> {
        self.entries.iter().copied()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Like a paced connection, which alternates between an early time and its retransmission timer.
    #[test]
    fn a_key_that_is_often_scheduled_earlier_has_one_entry() {
        let (mut deadlines, mut entered) = (Deadlines::default(), None);
        let mut now = Time::ZERO;
        for _ in 0..100 {
            let timer = now + Span::from_millis(200);
            deadlines.schedule(&mut entered, Some(timer), 7);
            now += Span::from_micros(500);
            deadlines.schedule(&mut entered, Some(now), 7);
            assert_eq!(deadlines.pop(now), Some((now, 7)));
            entered = None;
            assert_eq!(deadlines.pop(timer), None);
        }
    }

    #[test]
    fn a_later_time_keeps_the_earlier_entry() {
        let (mut deadlines, mut entered) = (Deadlines::default(), None);
        for ms in [20, 30, 40] {
            deadlines.schedule(&mut entered, Some(at(ms)), 7);
        }
        deadlines.schedule(&mut None, Some(at(25)), 8);
        assert_eq!(deadlines.next(), Some(at(20)));
        let order = [deadlines.pop(Time::MAX), deadlines.pop(Time::MAX), deadlines.pop(Time::MAX)];
        assert_eq!(order, [Some((at(20), 7)), Some((at(25), 8)), None]);
    }

    #[test]
    fn an_entry_that_is_set_moves_both_ways() {
        let (mut deadlines, mut entered) = (Deadlines::default(), None);
        for ms in [20, 40, 30] {
            deadlines.set(&mut entered, Some(at(ms)), 7);
            assert_eq!((deadlines.iter().count(), deadlines.next()), (1, Some(at(ms))));
        }
        assert_eq!(deadlines.pop(at(29)), None, "not yet due");
        deadlines.set(&mut entered, None, 7);
        assert_eq!(deadlines.pop(Time::MAX), None);
    }
}
