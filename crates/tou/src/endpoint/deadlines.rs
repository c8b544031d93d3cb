use std::collections::BTreeSet;
use windlass_base::Time;

/// Wake-up times, one for each key. Moving a time to a later one leaves its entry in place. The
/// caller is then woken too early, and asks for the later time. This keeps the retransmission timer
/// cheap, which each ACK moves.
#[derive(Debug)]
pub(crate) struct Deadlines<Key> {
    entries: BTreeSet<(Time, Key)>,
}

impl<Key: Ord> Default for Deadlines<Key> {
    fn default() -> Deadlines<Key> {
        Deadlines { entries: BTreeSet::new() }
    }
}

impl<Key: Ord + Copy> Deadlines<Key> {
    /// Schedules `key` at `wanted`. `entered` is the key's present entry, which the caller stores.
    pub(crate) fn schedule(&mut self, entered: &mut Option<Time>, wanted: Option<Time>, key: Key) {
        let Some(time) = wanted else { return };
        if let Some(later) = *entered {
            if later <= time {
                return;
            }
            // A stale entry would cause a useless wake-up. Pacing schedules an earlier time thousands
            // of times per second.
            self.entries.remove(&(later, key));
        }
        self.entries.insert((time, key));
        *entered = Some(time);
    }

    /// The earliest entry. It may be earlier than the wanted time.
    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.first().map(|(time, _)| *time)
    }

    /// Removes an entry that is due.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, Key)> {
        if self.next()? > now {
            return None;
        }
        self.entries.pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

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
        let at = |ms| Some(Time::ZERO + Span::from_millis(ms));
        for ms in [20, 30, 40] {
            deadlines.schedule(&mut entered, at(ms), 7);
        }
        deadlines.schedule(&mut None, at(25), 8);
        assert_eq!(deadlines.next(), at(20));
        let order = [deadlines.pop(Time::MAX), deadlines.pop(Time::MAX), deadlines.pop(Time::MAX)];
        assert_eq!(order, [at(20).map(|at| (at, 7)), at(25).map(|at| (at, 8)), None]);
    }
}
