//! Schedules: a value that changes at given times, for rates and delays.

use crate::ConfigError;
use crate::error::check_round;
use windlass_base::{Span, Time};

/// A value that changes at given times, and is constant in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T> {
    /// When each value begins to hold, from 0 on, ascending.
    steps: Vec<(Span, T)>,
    /// When the first step begins again; `None`: the last one holds for ever.
    repeat: Option<Span>,
}

impl<T: Copy> Steps<T> {
    /// `steps` are each value's beginning and the value. With `repeat`, they begin again after that
    /// time.
    ///
    /// # Errors
    ///
    /// The steps do not begin at 0, do not ascend, or `repeat` is no later than the last of them.
    pub fn new(steps: Vec<(Span, T)>, repeat: Option<Span>) -> Result<Steps<T>, ConfigError> {
        let begins = steps.first().is_some_and(|(at, _)| at.is_zero());
        if !begins || steps.windows(2).any(|pair| pair[1].0 <= pair[0].0) {
            return Err(ConfigError::StepOrder);
        }
        if repeat.is_some_and(|repeat| steps.iter().any(|(at, _)| *at >= repeat)) {
            return Err(ConfigError::RepeatTooSoon);
        }
        check_round(repeat)?;
        Ok(Steps { steps, repeat })
    }

    /// One value at all times.
    pub fn constant(value: T) -> Steps<T> {
        Steps { steps: vec![(Span::ZERO, value)], repeat: None }
    }

    /// The value at `time`, and when the next step begins; [`Time::MAX`] if none does.
    pub fn at(&self, time: Time) -> (T, Time) {
        let elapsed = time.as_nanos();
        let (round_begin, into_round) = match self.repeat {
            Some(repeat) => {
                let into = elapsed % repeat.as_nanos();
                (elapsed - into, into)
            }
            None => (0, elapsed),
        };
        let next = self.steps.partition_point(|(at, _)| at.as_nanos() <= into_round);
        let until = self.steps.get(next).map(|(at, _)| *at).or(self.repeat);
        let until = until.map_or(Time::MAX, |at| Time::from_nanos(round_begin) + at);
        (self.steps[next - 1].1, until)
    }

    /// The values, in order.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        self.steps.iter().map(|(_, value)| *value)
    }

    /// Each value and how long it holds in one round. Without a repetition the last one counts as long
    /// as all others together, or a nanosecond if there are none.
    pub fn lengths(&self) -> impl Iterator<Item = (T, Span)> + '_ {
        let last = self.steps[self.steps.len() - 1].0;
        let end = self.repeat.unwrap_or(last + last.max(Span::from_nanos(1)));
        let ends = self.steps[1..].iter().map(|(at, _)| *at).chain([end]);
        self.steps.iter().zip(ends).map(|((at, value), end)| (*value, end.saturating_sub(*at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ROUND_MIN;

    fn steps(repeat: Option<u64>) -> Result<Steps<u8>, ConfigError> {
        let at = Span::from_secs;
        Steps::new(vec![(at(0), 1), (at(10), 2)], repeat.map(Span::from_secs))
    }

    fn second(n: u64) -> Time {
        Time::ZERO + Span::from_secs(n)
    }

    #[test]
    fn a_step_holds_until_the_next_one_begins() {
        let once = steps(None).expect("steps in order");
        assert_eq!(once.at(Time::ZERO), (1, second(10)));
        assert_eq!(once.at(second(10)), (2, Time::MAX));
        let again = steps(Some(15)).expect("steps in order");
        assert_eq!(again.at(second(14)), (2, second(15)));
        assert_eq!(again.at(second(15)), (1, second(25)));
        assert_eq!(again.at(second(41)), (2, second(45)));
        let lengths: Vec<u64> = again.lengths().map(|(_, span)| span.as_nanos()).collect();
        assert_eq!(lengths, [10_000_000_000, 5_000_000_000]);
    }

    #[test]
    fn steps_that_do_not_ascend_are_refused() {
        let at = Span::from_secs;
        assert_eq!(Steps::new(vec![(at(1), 1)], None), Err(ConfigError::StepOrder));
        let short = Some(Span::from_nanos(9_999));
        assert_eq!(Steps::new(vec![(Span::ZERO, 1)], short), Err(ConfigError::Round));
        assert!(Steps::new(vec![(Span::ZERO, 1)], Some(ROUND_MIN)).is_ok());
        assert_eq!(Steps::<u8>::new(vec![], None), Err(ConfigError::StepOrder));
        assert_eq!(Steps::new(vec![(at(0), 1), (at(0), 2)], None), Err(ConfigError::StepOrder));
        assert_eq!(steps(Some(10)), Err(ConfigError::RepeatTooSoon));
    }
}
