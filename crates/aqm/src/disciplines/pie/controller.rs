//! PIE's control loop: computes the drop probability every T_UPDATE (RFC 8033 §4.2).
//! [`Pie`](super::Pie) applies it to arrivals.

use super::PieConfig;
use windlass_base::{Span, Time};

/// The most missed periods that are made up for; far more than any state needs to settle.
const MISSED_PERIODS_MAX: u32 = 10_000;

/// PIE's drop probability and what it is computed from (RFC 8033 §4.2 and §4.4).
#[derive(Clone, Debug)]
pub(super) struct Controller {
    probability: f64,
    /// Waiting time of the packet that left last; zero once the queue has run empty.
    delay: Span,
    /// `delay` as it was at the last update.
    delay_old: Span,
    burst_allowance: Span,
    next_update: Option<Time>,
}

impl Controller {
    pub(super) fn new(config: &PieConfig) -> Controller {
        Controller {
            probability: 0.0,
            delay: Span::ZERO,
            delay_old: Span::ZERO,
            // RFC 8033 §4.4: a burst at the very beginning passes too.
            burst_allowance: config.max_burst,
            next_update: None,
        }
    }

    pub(super) fn probability(&self) -> f64 {
        self.probability
    }

    pub(super) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    pub(super) fn allows_burst(&self) -> bool {
        !self.burst_allowance.is_zero()
    }

    /// Low delay and a low probability: the signal is not worth a packet (RFC 8033 §4.1).
    pub(super) fn is_calm(&self, config: &PieConfig) -> bool {
        self.delay_old < config.target / 2 && self.probability < 0.2
    }

    /// Makes up for the updates that were due up to `now`. The delay changes only when packets
    /// leave, so this equals updates made by a timer.
    pub(super) fn catch_up(&mut self, now: Time, config: &PieConfig) {
        let mut next = self.next_update.unwrap_or(now + config.update_interval);
        for _ in 0..MISSED_PERIODS_MAX {
            if now < next {
                break;
            }
            self.update(config);
            next += config.update_interval;
        }
        if next <= now {
            next = now + config.update_interval;
        }
        self.next_update = Some(next);
    }

    /// One periodic update (RFC 8033 §4.2, §4.4, §5.5).
    fn update(&mut self, config: &PieConfig) {
        let target = config.target.as_secs_f64();
        let delay = self.delay.as_secs_f64();
        let old = self.delay_old.as_secs_f64();
        // RFC 8033 §4.2: p = alpha (qdelay - QDELAY_REF) + beta (qdelay - qdelay_old).
        let mut step = config.alpha * (delay - target) + config.beta * (delay - old);
        step *= gain(self.probability);
        // RFC 8033 §5.5: a large probability grows by 0.02 at most in an update.
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        // RFC 8033 §4.2: without congestion the probability decays.
        if self.is_delay_low(config) {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        // RFC 8033 §4.4: the allowance runs down; a calm queue renews it.
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update_interval);
        if self.probability == 0.0 && self.is_delay_low(config) {
            self.burst_allowance = config.max_burst;
        }
        self.delay_old = self.delay;
    }

    fn is_delay_low(&self, config: &PieConfig) -> bool {
        // RFC 8033 §4.2: both delays are below half of QDELAY_REF.
        let half = config.target / 2;
        self.delay < half && self.delay_old < half
    }
}

/// Small probabilities move in small steps (the table of RFC 8033 §4.2).
fn gain(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn made_up_updates_equal_those_of_a_timer() {
        let config = PieConfig::default();
        let (mut timer, mut lazy) = (Controller::new(&config), Controller::new(&config));
        lazy.catch_up(Time::ZERO, &config);
        for ms in 0..3_000 {
            timer.catch_up(at_ms(ms), &config);
            if ms % 700 == 699 {
                lazy.catch_up(at_ms(ms), &config);
                let delay = Span::from_millis(ms % 90);
                timer.set_delay(delay);
                lazy.set_delay(delay);
            }
        }
        timer.catch_up(at_ms(3_000), &config);
        lazy.catch_up(at_ms(3_000), &config);
        assert!(timer.probability > 0.0);
        assert_eq!(timer.probability, lazy.probability);
        assert_eq!(timer.burst_allowance, lazy.burst_allowance);
        assert_eq!(timer.next_update, lazy.next_update);
    }

    /// RFC 8033 §4.4: "below" half the target, both now and before.
    #[test]
    fn at_half_the_target_the_delay_is_not_low_yet() {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        let mut after = |delay| {
            controller.set_delay(delay);
            controller.update(&config);
            (controller.probability, controller.burst_allowance)
        };
        let half = config.target / 2;
        let [.., (probability, shorter)] = [half; 6].map(&mut after);
        assert_eq!(
            (probability, shorter),
            (0.0, config.max_burst.saturating_sub(config.update_interval * 6))
        );
        assert_eq!(after(Span::ZERO), (0.0, shorter.saturating_sub(config.update_interval)));
        assert_eq!(after(Span::ZERO), (0.0, config.max_burst));
    }

    /// RFC 8033 §4.1: a queue is calm below half the target; at half it is not.
    #[test]
    fn at_half_the_target_a_queue_is_not_calm() {
        let config = PieConfig::default();
        let half = config.target / 2;
        for (delay, calm) in [(half.saturating_sub(Span::from_nanos(1)), true), (half, false)] {
            let mut controller = Controller::new(&config);
            controller.set_delay(delay);
            controller.update(&config);
            assert_eq!(controller.is_calm(&config), calm, "{delay:?}");
        }
    }

    /// RFC 8033 §4.4.
    #[test]
    fn a_burst_is_allowed_for_as_long_as_the_configuration_says() {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        controller.set_delay(config.target * 2);
        let updates = config.max_burst.as_nanos().div_ceil(config.update_interval.as_nanos());
        for update in 0..updates {
            assert!(controller.allows_burst(), "after {update} updates");
            controller.update(&config);
        }
        assert!(!controller.allows_burst());
    }

    /// RFC 8033 §4.2: a step at a probability below 0.000001 is divided by 2048.
    #[test]
    fn the_first_step_is_a_2048th() {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        controller.set_delay(Span::from_millis(35));
        controller.update(&config);
        let expected = (0.125 * 0.020 + 1.25 * 0.035) / 2048.0;
        assert!((controller.probability - expected).abs() < 1e-15);
    }

    /// RFC 8033 §5.5.
    #[test]
    fn a_step_from_ten_percent_up_is_at_most_two_percent() {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        controller.probability = 0.1;
        controller.set_delay(Span::from_secs(3));
        controller.update(&config);
        assert!((controller.probability - 0.12).abs() < 1e-12);
    }

    /// RFC 8033 §4.2: without congestion the probability decays by 2 percent an update, besides.
    #[test]
    fn the_probability_decays_while_the_delay_is_low() {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        controller.probability = 0.5;
        controller.update(&config);
        assert!((controller.probability - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn an_age_without_calls_takes_no_age_to_make_up_for() {
        let config = PieConfig::default();
        let mut controller = Controller::new(&config);
        controller.catch_up(Time::ZERO, &config);
        controller.probability = 1.0;
        let late = Time::ZERO + Span::from_secs(3600 * 24 * 365);
        controller.catch_up(late, &config);
        assert_eq!(controller.probability, 0.0);
        assert_eq!(controller.next_update, Some(late + config.update_interval));
    }
}
