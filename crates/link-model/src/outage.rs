//! Times in which a link carries nothing: packets wait, or are lost.

use crate::ConfigError;
use crate::error::check_round;
use windlass_base::{Span, Time};

/// Steps of rate, outages and opportunities after which a transmission counts as one that never
/// ends.
pub(crate) const STEPS_MAX: u32 = 1_000_000;

/// A time in which the link carries nothing.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// When it begins.
    pub at: Span,
    /// How long it lasts.
    pub lasts: Span,
    /// The time from one beginning to the next; `None`: it happens once.
    pub every: Option<Span>,
    /// True: the link goes on transmitting, and what it transmits is lost. False: packets wait in the
    /// queue.
    pub lose: bool,
}

impl Outage {
    /// Checks that the outage lasts, ends before it begins again, and does so not too often.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Outage`] or [`ConfigError::Round`] if it does not.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let ends = self.every.is_none_or(|every| every > self.lasts);
        if !ends || self.lasts.is_zero() {
            return Err(ConfigError::Outage);
        }
        check_round(self.every)
    }

    /// When the outage under way at `time` ends; `None` if none is.
    fn end(&self, time: Time) -> Option<Time> {
        let since = time.as_nanos().checked_sub(self.at.as_nanos())?;
        let into = self.every.map_or(since, |every| since % every.as_nanos());
        let left = self.lasts.as_nanos().checked_sub(into).filter(|left| *left > 0)?;
        Some(time + Span::from_nanos(left))
    }

    /// When the next outage after `time` begins; [`Time::MAX`] if none does.
    fn next(&self, time: Time) -> Time {
        let first = Time::ZERO + self.at;
        let Some(every) = self.every.filter(|_| time >= first) else {
            return if time < first { first } else { Time::MAX };
        };
        let into = (time - first).as_nanos() % every.as_nanos();
        time + Span::from_nanos(every.as_nanos() - into)
    }
}

/// All outages of a link.
#[derive(Clone, Debug, Default)]
pub struct Outages {
    outages: Vec<Outage>,
}

impl Outages {
    /// The outages in which packets are lost.
    pub fn that_lose(outages: &[Outage]) -> Outages {
        Outages { outages: outages.iter().filter(|outage| outage.lose).copied().collect() }
    }

    /// The outages in which packets wait.
    pub(crate) fn that_hold(outages: &[Outage]) -> Outages {
        Outages { outages: outages.iter().filter(|outage| !outage.lose).copied().collect() }
    }

    /// True if an outage is under way.
    pub fn is_under_way(&self, time: Time) -> bool {
        self.outages.iter().any(|outage| outage.end(time).is_some())
    }

    /// The first time from `time` on without an outage; [`Time::MAX`] after so many that there seems
    /// to be none.
    pub(crate) fn over(&self, time: Time) -> Time {
        let mut time = time;
        for _ in 0..STEPS_MAX {
            match self.outages.iter().filter_map(|outage| outage.end(time)).max() {
                Some(end) => time = end,
                None => return time,
            }
        }
        Time::MAX
    }

    /// When the next outage begins after `time`.
    pub(crate) fn next(&self, time: Time) -> Time {
        self.outages.iter().map(|outage| outage.next(time)).min().unwrap_or(Time::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: u64) -> Time {
        Time::ZERO + Span::from_secs(n)
    }

    #[test]
    fn outages_may_repeat_and_overlap() {
        let (at, lasts) = (Span::from_secs(10), Span::from_secs(2));
        let every = Some(Span::from_secs(5));
        let repeated = Outage { at, lasts, every, lose: false };
        let once = Outage { at: Span::from_secs(11), every: None, ..repeated };
        let outages = Outages::that_hold(&[repeated, once]);
        assert_eq!(outages.over(second(9)), second(9));
        assert_eq!(outages.over(second(10)), second(13), "one outage follows the other");
        assert_eq!(outages.over(second(15)), second(17));
        assert_eq!(outages.over(second(17)), second(17));
        assert_eq!(outages.next(second(3)), second(10));
        assert_eq!(outages.next(second(11)), second(15));
        assert!(!Outages::that_lose(&[repeated, once]).is_under_way(second(10)));
    }

    #[test]
    fn outages_without_a_gap_last_for_ever() {
        let first = Outage {
            at: Span::ZERO,
            lasts: Span::from_secs(3),
            every: Some(Span::from_secs(4)),
            lose: false,
        };
        let second_one = Outage { at: Span::from_secs(2), ..first };
        let outages = Outages::that_hold(&[first, second_one]);
        assert_eq!(outages.over(second(1)), Time::MAX);
    }

    #[test]
    fn an_outage_must_end() {
        let outage = Outage {
            at: Span::ZERO,
            lasts: Span::from_secs(2),
            every: Some(Span::from_secs(2)),
            lose: true,
        };
        assert_eq!(outage.validate(), Err(ConfigError::Outage));
        assert_eq!(
            Outage { lasts: Span::ZERO, every: None, ..outage }.validate(),
            Err(ConfigError::Outage)
        );
        assert_eq!(Outage { every: Some(Span::from_secs(3)), ..outage }.validate(), Ok(()));
    }
}
