//! DualPI2's PI controller: the base probability p' (RFC 9332 §2.4 and Appendix A.1, Figure 6).

use super::DualPi2Config;
use super::config::Overload;
use windlass_base::{Span, Time};

/// The most missed periods that are made up for; far more than any state needs to settle.
const MISSED_PERIODS_MAX: u32 = 10_000;

/// The base probability and the delays that it is computed from.
#[derive(Clone, Debug, Default)]
pub(super) struct Controller {
    base: f64,
    /// The delay at the last update, in seconds.
    last_delay_s: f64,
    next_update: Option<Time>,
}

impl Controller {
    /// p'. The probability in the classic queue is its square, that in the low-latency queue k times p'.
    pub(super) fn base(&self) -> f64 {
        self.base
    }

    /// Makes up for the updates that were due up to `now`. The queues' heads, which arrived at the times of
    /// `heads`, change only between calls, so this equals updates made by a timer.
    pub(super) fn catch_up(&mut self, now: Time, heads: [Option<Time>; 2], config: &DualPi2Config) {
        let mut next = self.next_update.unwrap_or(now + config.update_interval);
        for _ in 0..MISSED_PERIODS_MAX {
            if now < next {
                break;
            }
            let waited =
                |head: Option<Time>| head.map_or(Span::ZERO, |at| next.saturating_since(at));
            self.update(waited(heads[0]).max(waited(heads[1])), config);
            next += config.update_interval;
        }
        if next <= now {
            next = now + config.update_interval;
        }
        self.next_update = Some(next);
    }

    /// One periodic update by the longer of the two queues' delays: lines 2 to 5 of Figure 6 in RFC 9332.
    fn update(&mut self, delay: Span, config: &DualPi2Config) {
        let delay_s = delay.as_secs_f64();
        self.base += config.alpha * (delay_s - config.target.as_secs_f64())
            + config.beta * (delay_s - self.last_delay_s);
        self.last_delay_s = delay_s;
        // Where the low-latency queue never drops, p' stays where the ratio of the two signals holds.
        let most = match config.overload {
            Overload::Drop => 1.0,
            Overload::Overflow => (1.0 / config.coupling).min(1.0),
        };
        self.base = self.base.clamp(0.0, most);
    }
}
