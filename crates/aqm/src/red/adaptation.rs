use super::probability::Curve;
use crate::ConfigError;
use crate::error::{check_positive, check_probability};
use windlass_base::{Span, Time};

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

/// `max_p` as it moves.
#[derive(Clone, Debug)]
pub(super) struct MaxP {
    value: f64,
    adaptation: Option<Adaptation>,
    last_adapted: Time,
    zone: Zone,
}

/// Where the average was when it last lay off the thresholds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Zone {
    Below,
    Between,
    Above,
}

impl MaxP {
    pub(super) fn new(value: f64, adaptation: Option<Adaptation>) -> MaxP {
        MaxP { value, adaptation, last_adapted: Time::ZERO, zone: Zone::Between }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// An arrival has updated the average.
    pub(super) fn adapt(&mut self, now: Time, average: f64, curve: &Curve) {
        match self.adaptation {
            None => {}
            Some(Adaptation::Floyd(config)) => self.adapt_in_time(&config, now, average, curve),
            Some(Adaptation::Feng(config)) => self.adapt_to_zone(config, average, curve),
        }
    }

    fn adapt_in_time(&mut self, config: &AdaptiveConfig, now: Time, average: f64, curve: &Curve) {
        if now.saturating_since(self.last_adapted) < config.interval {
            return;
        }
        self.last_adapted = now;
        let Curve { min, max, .. } = *curve;
        // The target range is the middle fifth between the thresholds.
        let moved = if average > min + 0.6 * (max - min) {
            self.value + config.increase.min(self.value / 4.0)
        } else if average < min + 0.4 * (max - min) {
            self.value * config.decrease
        } else {
            self.value
        };
        self.value = moved.clamp(config.lowest_max_p, config.highest_max_p);
    }

    /// The paper bounds `max_p` on neither side. A probability ends at 1.
    fn adapt_to_zone(&mut self, config: SelfConfiguringConfig, average: f64, curve: &Curve) {
        let zone = if average < curve.min {
            Zone::Below
        } else if average > curve.max {
            Zone::Above
        } else if average > curve.min && average < curve.max {
            Zone::Between
        } else {
            return;
        };
        match zone {
            _ if zone == self.zone => return,
            Zone::Below => self.value /= config.alpha,
            Zone::Between => {}
            Zone::Above => self.value = (self.value * config.beta).min(1.0),
        }
        self.zone = zone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVE: Curve = Curve { min: 5.0, max: 15.0, gentle: false };

    fn self_configuring(initial: f64) -> MaxP {
        MaxP::new(initial, Some(Adaptation::Feng(SelfConfiguringConfig::default())))
    }

    fn after(max_p: &mut MaxP, average: f64) -> f64 {
        max_p.adapt(Time::ZERO, average, &CURVE);
        max_p.value()
    }

    #[test]
    fn self_configuring_red_moves_once_when_the_average_leaves_the_thresholds() {
        let mut max_p = self_configuring(0.18);
        assert_eq!(after(&mut max_p, 4.0), 0.06);
        assert_eq!(after(&mut max_p, 3.0), 0.06);
        assert_eq!(after(&mut max_p, 6.0), 0.06);
        assert_eq!(after(&mut max_p, 16.0), 0.12);
        assert_eq!(after(&mut max_p, 40.0), 0.12);
        // From above to below at once counts; on a threshold nothing moves.
        assert_eq!(after(&mut max_p, 4.0), 0.04);
        assert_eq!(after(&mut max_p, 5.0), 0.04);
        assert_eq!(after(&mut max_p, 4.0), 0.04);
    }

    #[test]
    fn self_configuring_red_ends_at_certainty() {
        let mut max_p = self_configuring(0.3);
        for expected in [0.6, 1.0, 1.0] {
            assert_eq!(after(&mut max_p, 20.0), expected);
            after(&mut max_p, 10.0);
        }
    }
}
