//! Settings of a link that cannot work.

use std::fmt;
use windlass_base::Span;

/// The shortest period of a schedule that repeats. A packet meets each round of its transmission.
pub(crate) const ROUND_MIN: Span = Span::from_micros(10);

/// Checks the time from one repetition to the next, if there is one.
pub(crate) fn check_round(round: Option<Span>) -> Result<(), ConfigError> {
    if round.is_some_and(|round| round < ROUND_MIN) { Err(ConfigError::Round) } else { Ok(()) }
}

/// A setting that cannot work.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The steps are empty, do not begin at 0, or do not ascend.
    StepOrder,
    /// The steps begin again before the last one begins.
    RepeatTooSoon,
    /// No step has a rate above zero, so that no packet would ever leave.
    NoRate,
    /// A burst of no bytes.
    ZeroBurst,
    /// The interval is zero, the longest one is shorter than it, or a release carries nothing.
    Aggregation,
    /// A schedule, trace or outage repeats after less than 10 us.
    Round,
    /// An outage of no length, or one that begins again before it has ended.
    Outage,
    /// No time from one satellite to the next, or a longer one than a satellite can be used.
    Orbit,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigError::StepOrder => {
                "expected steps that begin at 0, each later than the one before"
            }
            ConfigError::RepeatTooSoon => "repeat: expected a time after the last step begins",
            ConfigError::NoRate => "expected a step with a rate above zero",
            ConfigError::ZeroBurst => "burst: expected at least a byte",
            ConfigError::Aggregation => {
                "expected an interval above zero, max_interval no shorter, and packets and bytes \
                 above zero"
            }
            ConfigError::Round => "expected at least 10us from one repetition to the next",
            ConfigError::Orbit => {
                "handover: expected a time above zero, in which a satellite does not set"
            }
            ConfigError::Outage => {
                "expected an outage that lasts longer than zero, and less than the time from one \
                 to the next"
            }
        })
    }
}

impl std::error::Error for ConfigError {}
