use windlass_base::{Span, Time};

/// How many bytes acknowledged make cwnd a segment larger, and what of them there is: the counter that
/// Linux grows windows by.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps {
    acked: f64,
    step: f64,
    /// When the step was worked out last, and for which cwnd in bytes.
    at: Time,
    cwnd: f64,
}

/// Linux works it out anew so often, or for another cwnd (1/32 s in whole ticks).
const LIFETIME: Span = Span::from_millis(32);

impl Steps {
    /// Whether the step has to be worked out anew.
    pub(super) fn is_stale(&self, now: Time, cwnd: f64) -> bool {
        self.cwnd != cwnd || now.saturating_since(self.at) >= LIFETIME
    }

    /// A new step, of `bytes`.
    pub(super) fn set(&mut self, now: Time, cwnd: f64, bytes: f64) {
        (self.at, self.cwnd, self.step) = (now, cwnd, bytes);
    }

    /// How many segments `credit` bytes more are worth. One that was due comes at once, and what was
    /// beyond it is gone.
    pub(super) fn take(&mut self, credit: f64) -> f64 {
        let due = if self.acked >= self.step { 1.0 } else { 0.0 };
        self.acked = credit + if due > 0.0 { 0.0 } else { self.acked };
        let more = libm::floor(self.acked / self.step);
        self.acked -= more * self.step;
        due + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_comes_with_each_step_and_the_rest_stays() {
        let mut steps = Steps::default();
        steps.set(Time::ZERO, 10_000.0, 10_000.0);
        assert_eq!(steps.take(9000.0), 0.0);
        assert_eq!(steps.take(3000.0), 1.0);
        assert_eq!(steps.take(28_000.0), 3.0);
    }

    #[test]
    fn what_was_acknowledged_before_a_shorter_step_gives_one_segment_at_once() {
        let mut steps = Steps::default();
        steps.set(Time::ZERO, 10_000.0, 1_000_000.0);
        assert_eq!(steps.take(35_000.0), 0.0);
        steps.set(Time::ZERO, 10_000.0, 10_000.0);
        assert_eq!(steps.take(1000.0), 1.0);
        assert_eq!(steps.take(8000.0), 0.0);
    }

    #[test]
    fn a_step_holds_for_a_window_and_a_time() {
        let mut steps = Steps::default();
        steps.set(Time::ZERO, 10_000.0, 20_000.0);
        let later = |ms| Time::ZERO + Span::from_millis(ms);
        assert!(!steps.is_stale(later(31), 10_000.0));
        assert!(steps.is_stale(later(32), 10_000.0));
        assert!(steps.is_stale(later(1), 11_000.0));
    }
}
