//! The verdict on a figure, and on a cell.

use crate::interval::Interval;
use serde::Serialize;

/// The answer of a cell, the worst last.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// The simulator has no such thing, or the criterion is about the text of a specification.
    #[serde(rename = "not testable here")]
    NotTestable,
    /// The figure keeps its threshold with its whole interval.
    #[serde(rename = "met")]
    Met,
    /// The interval has the threshold inside, or there is none with a single seed.
    #[serde(rename = "not decided")]
    NotDecided,
    /// The figure is beyond its threshold with its whole interval.
    #[serde(rename = "not met")]
    NotMet,
}

impl Verdict {
    /// The verdict on an excess over the threshold of so many runs.
    pub(crate) fn of(excess: Interval, seeds: usize) -> Verdict {
        match () {
            () if seeds < 2 => Verdict::NotDecided,
            () if excess.high <= 0.0 => Verdict::Met,
            () if excess.low > 0.0 => Verdict::NotMet,
            () => Verdict::NotDecided,
        }
    }

    /// The words that reports use.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::NotTestable => "not testable here",
            Verdict::Met => "met",
            Verdict::NotDecided => "not decided",
            Verdict::NotMet => "not met",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_around_the_threshold_decides_nothing() {
        let excess = |low, high| Interval { mean: (low + high) / 2.0, low, high };
        assert_eq!(Verdict::of(excess(-2.0, -1.0), 10), Verdict::Met);
        assert_eq!(Verdict::of(excess(-1.0, 1.0), 10), Verdict::NotDecided);
        assert_eq!(Verdict::of(excess(1.0, 2.0), 10), Verdict::NotMet);
        assert_eq!(Verdict::of(excess(-2.0, -2.0), 1), Verdict::NotDecided);
    }
}
