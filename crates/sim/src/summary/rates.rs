//! Rates of the two windows.

use super::Windows;
use crate::model::Channel;

const BITS_PER_MBIT: f64 = 1e6;

/// The lengths of the two windows in seconds.
#[derive(Copy, Clone)]
pub(super) struct Lengths {
    pub(super) whole_s: f64,
    pub(super) steady_s: f64,
}

impl Lengths {
    /// Counts of both windows as rates.
    pub(super) fn per_s(&self, whole: f64, before_steady: f64) -> Windows<f64> {
        let rate = |count: f64, time_s: f64| if time_s > 0.0 { count / time_s } else { 0.0 };
        Windows {
            whole_run: rate(whole, self.whole_s),
            steady: rate(whole - before_steady, self.steady_s),
        }
    }
}

/// The rates in the whole run.
pub(super) fn whole_run(rates: &[Windows<f64>]) -> Vec<f64> {
    rates.iter().map(|rate| rate.whole_run).collect()
}

/// The rates in the steady window.
pub(super) fn steady_of(rates: &[Windows<f64>]) -> Vec<f64> {
    rates.iter().map(|rate| rate.steady).collect()
}

/// The sums of rates.
pub(super) fn total(rates: &[Windows<f64>]) -> Windows<f64> {
    // An empty sum of floats is -0.
    let sum = |rates: Vec<f64>| 0.0 + rates.iter().sum::<f64>();
    Windows { whole_run: sum(whole_run(rates)), steady: sum(steady_of(rates)) }
}

/// Rates in units of so many bytes as Mbit/s.
pub(super) fn mbit_per_s(units_per_s: Windows<f64>, unit_bytes: f64) -> Windows<f64> {
    let mbit = |rate: f64| rate * unit_bytes * 8.0 / BITS_PER_MBIT;
    Windows { whole_run: mbit(units_per_s.whole_run), steady: mbit(units_per_s.steady) }
}

/// The rate of a link in Mbit/s; `None` if it has none, or one that changes over time.
pub(super) fn constant_mbit_per_s(channel: &Channel) -> Option<f64> {
    let changes = channel.variation.rate.is_some() || channel.variation.shaper.is_some();
    let rate = channel.rate.filter(|_| !changes)?;
    Some(rate.bits_per_sec() as f64 / BITS_PER_MBIT)
}

/// The share of a link's rate that is used. A packet counts as a whole in the window in which the device
/// takes it from the queue: the last one may end after the window, and does not make a link busier
/// than it can be.
pub(super) fn utilisation(used_mbit_per_s: Windows<f64>, rate_mbit_per_s: f64) -> Windows<f64> {
    let share = |used: f64| (used / rate_mbit_per_s).min(1.0);
    Windows { whole_run: share(used_mbit_per_s.whole_run), steady: share(used_mbit_per_s.steady) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_no_rates_has_no_sign() {
        assert!(total(&[]).steady.is_sign_positive());
        let rates = [0.25, 0.5].map(|rate| Windows { whole_run: rate, steady: 2.0 * rate });
        assert_eq!(total(&rates), Windows { whole_run: 0.75, steady: 1.5 });
    }

    #[test]
    fn a_thousand_packets_of_1250_bytes_a_second_are_ten_mbit() {
        let rate = mbit_per_s(Windows { whole_run: 1000.0, steady: 500.0 }, 1250.0);
        assert_eq!(rate, Windows { whole_run: 10.0, steady: 5.0 });
        assert_eq!(utilisation(rate, 8.0), Windows { whole_run: 1.0, steady: 0.625 });
    }
}
