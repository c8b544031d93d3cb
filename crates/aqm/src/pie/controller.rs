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
        let mut step = config.alpha * (delay - target) + config.beta * (delay - old);
        step *= gain(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if self.is_delay_low(config) {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update_interval);
        if self.probability == 0.0 && self.is_delay_low(config) {
            self.burst_allowance = config.max_burst;
        }
        self.delay_old = self.delay;
    }

    fn is_delay_low(&self, config: &PieConfig) -> bool {
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
