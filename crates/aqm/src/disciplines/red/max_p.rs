//! RED's probability at the upper threshold, fixed or adapted at each arrival.

use super::adaptation::{Adaptation, AdaptiveConfig, SelfConfiguringConfig};
use super::probability::Curve;
use windlass_base::Time;

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
    #[inline]
    pub(super) fn adapt(&mut self, now: Time, average: f64, curve: &Curve) {
        if let Some(adaptation) = self.adaptation {
            self.adapt_by(adaptation, now, average, curve);
        }
    }

    /// Apart, since most queues do not adapt.
    #[inline(never)]
    fn adapt_by(&mut self, adaptation: Adaptation, now: Time, average: f64, curve: &Curve) {
        match adaptation {
            Adaptation::Floyd(config) => self.adapt_in_time(&config, now, average, curve),
            Adaptation::Feng(config) => self.adapt_to_zone(config, average, curve),
        }
    }

    fn adapt_in_time(&mut self, config: &AdaptiveConfig, now: Time, average: f64, curve: &Curve) {
        if now.saturating_since(self.last_adapted) < config.interval {
            return;
        }
        self.last_adapted = now;
        let Curve { min, max, .. } = *curve;
        // Floyd, Gummadi and Shenker 2001, figure 1: above the target range, the middle fifth between
        // the thresholds, max_p + min(0.01, max_p / 4); below it 0.9 max_p.
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
        // Feng et al. 1999: max_p moves only where the average enters another zone: below min_th it
        // becomes max_p / alpha, above max_th beta max_p.
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
    use windlass_base::Span;

    const CURVE: Curve = Curve { min: 5.0, max: 15.0, gentle: false };

    fn self_configuring(initial: f64) -> MaxP {
        MaxP::new(initial, Some(Adaptation::Feng(SelfConfiguringConfig::default())))
    }

    fn after(max_p: &mut MaxP, average: f64) -> f64 {
        max_p.adapt(Time::ZERO, average, &CURVE);
        max_p.value()
    }

    /// Floyd, Gummadi and Shenker 2001, section 4: alpha is at most a quarter of max_p, beta is 0.9, and nothing
    /// moves in the middle fifth between the thresholds.
    #[test]
    fn adaptive_red_moves_by_a_step_or_a_quarter_each_half_second() {
        let config = AdaptiveConfig::default();
        let mut max_p = MaxP::new(0.02, Some(Adaptation::Floyd(config)));
        let mut at_ms = 0;
        let mut after = |average| {
            at_ms += 500;
            max_p.adapt(Time::ZERO + Span::from_millis(at_ms - 1), average, &CURVE);
            max_p.adapt(Time::ZERO + Span::from_millis(at_ms), average, &CURVE);
            (max_p.value() * 1e6).round() / 1e6
        };
        assert_eq!([12.0, 12.0].map(&mut after), [0.025, 0.03125]);
        assert_eq!([11.0, 9.0, 8.0].map(&mut after), [0.03125, 0.03125, 0.028125]);
        assert_eq!([14.0, 14.0, 14.0].map(&mut after), [0.035156, 0.043945, 0.053945]);
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
