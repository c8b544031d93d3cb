//! Settings of the two ways in which RED can move `max_p` by itself. [`max_p`](super::max_p)
//! applies them.

use crate::ConfigError;
use crate::error::{check_positive, check_probability};
use windlass_base::Span;

/// How RED sets its probability `max_p` by itself.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Adaptation {
    /// Adaptive RED (Floyd, Gummadi, Shenker 2001): steps in time towards a target range.
    Floyd(AdaptiveConfig),
    /// Self-configuring RED (Feng, Kandlur, Saha, Shin 1999): a step whenever the average leaves the
    /// thresholds.
    Feng(SelfConfiguringConfig),
}

impl Adaptation {
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Adaptation::Floyd(config) => config.validate(),
            Adaptation::Feng(config) => config.validate(),
        }
    }
}

/// Settings of Adaptive RED's control of `max_p` (Floyd, Gummadi, Shenker 2001, figure 1).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct AdaptiveConfig {
    /// Time between steps. Default: 0.5 s.
    pub interval: Span,
    /// `max_p` stays at or above this. Default: 0.01.
    pub lowest_max_p: f64,
    /// `max_p` stays at or below this. Default: 0.5.
    pub highest_max_p: f64,
    /// Added to `max_p` when the average is above the target range, but never more than a quarter
    /// of `max_p`. Default: 0.01.
    pub increase: f64,
    /// Factor of `max_p` when the average is below the target range. Default: 0.9.
    pub decrease: f64,
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        AdaptiveConfig {
            interval: Span::from_millis(500),
            lowest_max_p: 0.01,
            highest_max_p: 0.5,
            increase: 0.01,
            decrease: 0.9,
        }
    }
}

impl AdaptiveConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check_positive(self.interval.as_secs_f64(), "the adaptation interval")?;
        check_positive(self.increase, "the increase of max_p")?;
        check_probability(self.decrease, "the decrease of max_p")?;
        check_probability(self.lowest_max_p, "the lowest max_p")?;
        check_probability(self.highest_max_p, "the highest max_p")?;
        if self.lowest_max_p > self.highest_max_p {
            return Err(ConfigError::Probability("the lowest max_p (above the highest)"));
        }
        Ok(())
    }
}

/// Settings of self-configuring RED's control of `max_p` (Feng, Kandlur, Saha, Shin 1999).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SelfConfiguringConfig {
    /// Divisor of `max_p` when the average falls below `min`. Default: 3.
    pub alpha: f64,
    /// Factor of `max_p` when the average rises above `max`. Default: 2.
    pub beta: f64,
}

impl Default for SelfConfiguringConfig {
    fn default() -> Self {
        SelfConfiguringConfig { alpha: 3.0, beta: 2.0 }
    }
}

impl SelfConfiguringConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check_above_one(self.alpha, "alpha of self-configuring RED")?;
        check_above_one(self.beta, "beta of self-configuring RED")
    }
}

fn check_above_one(value: f64, name: &'static str) -> Result<(), ConfigError> {
    if value > 1.0 && value.is_finite() { Ok(()) } else { Err(ConfigError::NotAboveOne(name)) }
}
