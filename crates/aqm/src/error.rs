//! Settings of a discipline that cannot work.

use core::fmt;

/// The setting of a discipline that cannot work.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A queue that can hold nothing.
    ZeroLimit,
    /// RED's thresholds: 0 <= min < max must hold, both finite.
    Thresholds,
    /// A probability outside (0, 1], or bounds of one in the wrong order; its name.
    Probability(&'static str),
    /// RED's queue weight outside (0, 1].
    Weight,
    /// A burst for which [`TcRed`](crate::TcRed) finds no weight: fewer packets than `min` holds.
    Burst,
    /// The named setting, a number of things in memory, exceeds this bound.
    TooMany(&'static str, u32),
    /// A size, count or span that must not be zero (or must be finite); its name.
    Zero(&'static str),
    /// A factor or divisor that must be above 1 (and finite); its name.
    NotAboveOne(&'static str),
    /// A setting that depends on the link's rate, where no rate is given; its name.
    NeedsLinkRate(&'static str),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::ZeroLimit => f.write_str("the queue limit is zero"),
            ConfigError::Thresholds => f.write_str("thresholds must satisfy 0 <= min < max"),
            ConfigError::Probability(name) => write!(f, "{name} is not a probability above 0"),
            ConfigError::Burst => f.write_str("burst must be at least min / avpkt"),
            ConfigError::Weight => f.write_str("the queue weight must lie in (0, 1]"),
            ConfigError::TooMany(name, most) => write!(f, "{name} must be at most {most}"),
            ConfigError::Zero(name) => write!(f, "{name} must be above zero"),
            ConfigError::NotAboveOne(name) => write!(f, "{name} must be above 1"),
            ConfigError::NeedsLinkRate(name) => write!(f, "{name} needs a known link rate"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// `value` is a probability above zero.
pub(crate) fn check_probability(value: f64, name: &'static str) -> Result<(), ConfigError> {
    if value > 0.0 && value <= 1.0 { Ok(()) } else { Err(ConfigError::Probability(name)) }
}

/// `value` is finite and above zero.
pub(crate) fn check_positive(value: f64, name: &'static str) -> Result<(), ConfigError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(ConfigError::Zero(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_zero_is_no_other_number_either() {
        for probability in [f64::MIN_POSITIVE, 0.5, 1.0] {
            assert_eq!(check_probability(probability, "p"), Ok(()));
        }
        for other in [0.0, -0.5, 1.0 + f64::EPSILON, f64::INFINITY, f64::NAN] {
            assert_eq!(
                check_probability(other, "p"),
                Err(ConfigError::Probability("p")),
                "{other}"
            );
        }
        assert_eq!(check_positive(f64::MAX, "x"), Ok(()));
        for other in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert_eq!(check_positive(other, "x"), Err(ConfigError::Zero("x")), "{other}");
        }
    }
}
