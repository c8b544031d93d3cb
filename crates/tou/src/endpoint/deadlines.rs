use std::collections::BTreeSet;
use windlass_base::Time;

/// Wake-up times by key, one for each. A time that moves back leaves its entry where it is: whoever is
/// woken too early is asked again. A connection's retransmission timer moves with each ACK, and costs
/// nothing here.
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
    /// `entered` is the time that stands here for `key`, kept by the caller.
    pub(crate) fn schedule(&mut self, entered: &mut Option<Time>, wanted: Option<Time>, key: Key) {
        let Some(time) = wanted else { return };
        if let Some(later) = *entered {
            if later <= time {
                return;
            }
            // Left behind, it would wake somebody for nothing: pacing enters an earlier time thousands
            // of times a second.
            self.entries.remove(&(later, key));
        }
        self.entries.insert((time, key));
        *entered = Some(time);
    }

    /// The earliest; perhaps too early.
    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.first().map(|(time, _)| *time)
    }

    /// An entry whose time has come.
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

    /// As a paced connection does: an earlier time again and again, and then its retransmission timer.
    #[test]
    fn a_key_that_is_woken_early_again_and_again_has_one_entry() {
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
    fn a_time_that_moves_back_is_told_too_early_rather_than_moved() {
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
