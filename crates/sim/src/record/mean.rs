//! Means over samples and over time.

use windlass_base::Time;

/// The mean of samples.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    pub(crate) fn add(&mut self, sample: f64) {
        self.sum += sample;
        self.count += 1;
    }

    /// `None` without samples.
    pub(crate) fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// An integral over time, and over how much time.
#[derive(Copy, Clone, Debug, Default)]
struct Integral {
    area: f64,
    nanos: f64,
}

impl Integral {
    fn mean(&self) -> Option<f64> {
        (self.nanos > 0.0).then(|| self.area / self.nanos)
    }
}

/// The mean over time of a value that holds until it is set again, in the whole run and in the
/// steady window. Times at which there is no value do not count.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct TimeMean {
    steady_from: Time,
    last: Time,
    value: Option<f64>,
    whole: Integral,
    before_steady: Integral,
}

impl TimeMean {
    pub(crate) fn new(steady_from: Time, value: Option<f64>) -> TimeMean {
        TimeMean { steady_from, value, ..TimeMean::default() }
    }

    /// The value from `now` on.
    pub(crate) fn set(&mut self, now: Time, value: Option<f64>) {
        self.advance(now);
        self.value = value;
    }

    /// The value in force.
    pub(crate) fn value(&self) -> Option<f64> {
        self.value
    }

    /// Counts the time up to `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        if self.last < self.steady_from {
            self.enter_steady_window(now);
        }
        self.add_until(now);
    }

    /// Notes the integral at the beginning of the steady window, if `now` is in it.
    #[inline(never)]
    fn enter_steady_window(&mut self, now: Time) {
        if now >= self.steady_from {
            self.add_until(self.steady_from);
            self.before_steady = self.whole;
        }
    }

    fn add_until(&mut self, now: Time) {
        if let Some(value) = self.value {
            // A number with a sign takes one instruction to be made one with a fraction, not eight.
            let nanos = now.saturating_since(self.last).as_nanos().cast_signed() as f64;
            self.whole.area += value * nanos;
            self.whole.nanos += nanos;
        }
        self.last = now;
    }

    /// The mean up to the last [`TimeMean::advance`]; `None` if there was never a value.
    pub(crate) fn whole(&self) -> Option<f64> {
        self.whole.mean()
    }

    /// The mean of the steady window.
    pub(crate) fn steady(&self) -> Option<f64> {
        if self.last < self.steady_from {
            return None;
        }
        Integral {
            area: self.whole.area - self.before_steady.area,
            nanos: self.whole.nanos - self.before_steady.nanos,
        }
        .mean()
    }
}

/// The mean over time of a count, in whole numbers: exact, and cheap.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct CountMean {
    steady_from: Time,
    last: Time,
    count: u64,
    /// Count times nanoseconds, so far and before the steady window.
    area: u128,
    area_before_steady: u128,
}

impl CountMean {
    pub(crate) fn new(steady_from: Time) -> CountMean {
        CountMean { steady_from, ..CountMean::default() }
    }

    /// The count from `now` on.
    #[inline]
    pub(crate) fn set(&mut self, now: Time, count: u64) {
        self.advance(now);
        self.count = count;
    }

    /// Counts the time up to `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if self.last < self.steady_from {
            self.enter_steady_window(now);
        }
        self.add_until(now);
    }

    /// Notes the area at the beginning of the steady window, if `now` is in it.
    #[inline(never)]
    fn enter_steady_window(&mut self, now: Time) {
        if now >= self.steady_from {
            self.add_until(self.steady_from);
            self.area_before_steady = self.area;
        }
    }

    #[inline]
    fn add_until(&mut self, now: Time) {
        let nanos = now.saturating_since(self.last).as_nanos();
        self.area += u128::from(self.count) * u128::from(nanos);
        self.last = now;
    }

    /// The mean up to the last [`CountMean::advance`]; `None` at time 0.
    pub(crate) fn whole(&self) -> Option<f64> {
        mean(self.area, self.last.as_nanos())
    }

    /// The mean of the steady window.
    pub(crate) fn steady(&self) -> Option<f64> {
        let nanos = self.last.saturating_since(self.steady_from).as_nanos();
        mean(self.area - self.area_before_steady, nanos)
    }
}

fn mean(area: u128, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| area as f64 / nanos as f64)
}

/// A traced variable: the mean of its values after each change, and its mean over time.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Signal {
    pub(crate) trace: Mean,
    pub(crate) time: TimeMean,
}

impl Signal {
    pub(crate) fn new(steady_from: Time) -> Signal {
        Signal { trace: Mean::default(), time: TimeMean::new(steady_from, None) }
    }

    /// The variable changed.
    pub(crate) fn change(&mut self, now: Time, value: f64) {
        self.trace.add(value);
        self.time.set(now, Some(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_over_time_weighs_values_by_how_long_they_held() {
        let mut mean = TimeMean::new(Time::from_nanos(10), Some(1.0));
        mean.set(Time::from_nanos(4), Some(2.0));
        mean.set(Time::from_nanos(16), Some(5.0));
        mean.advance(Time::from_nanos(20));
        assert_eq!(mean.whole(), Some((4.0 + 2.0 * 12.0 + 5.0 * 4.0) / 20.0));
        assert_eq!(mean.steady(), Some((2.0 * 6.0 + 5.0 * 4.0) / 10.0));
    }

    #[test]
    fn a_mean_of_counts_is_that_of_the_same_values() {
        let mut counts = CountMean::new(Time::from_nanos(10));
        let mut values = TimeMean::new(Time::from_nanos(10), Some(0.0));
        assert_eq!(counts.whole(), None);
        for (nanos, count) in [(4, 2), (7, 0), (16, 5), (16, 6), (18, 1)] {
            counts.set(Time::from_nanos(nanos), count);
            values.set(Time::from_nanos(nanos), Some(count as f64));
            assert_eq!(counts.whole(), values.whole());
            assert_eq!(counts.steady(), values.steady());
        }
        counts.advance(Time::from_nanos(20));
        assert_eq!(counts.whole(), Some((2.0 * 3.0 + 0.0 + 6.0 * 2.0 + 1.0 * 2.0) / 20.0));
        assert_eq!(counts.steady(), Some((6.0 * 2.0 + 1.0 * 2.0) / 10.0));
    }

    #[test]
    fn time_without_a_value_does_not_count() {
        let mut mean = TimeMean::new(Time::ZERO, None);
        mean.set(Time::from_nanos(10), Some(3.0));
        mean.set(Time::from_nanos(20), None);
        mean.advance(Time::from_nanos(50));
        assert_eq!((mean.whole(), mean.steady()), (Some(3.0), Some(3.0)));
    }

    #[test]
    fn a_trace_mean_weighs_every_change_alike() {
        let mut signal = Signal::new(Time::ZERO);
        signal.change(Time::from_nanos(0), 1.0);
        signal.change(Time::from_nanos(9), 3.0);
        signal.time.advance(Time::from_nanos(10));
        assert_eq!(signal.trace.value(), Some(2.0));
        assert_eq!(signal.time.whole(), Some(1.2));
    }
}
