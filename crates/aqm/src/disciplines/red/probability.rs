//! RED's probability: p_b from the average, and p_a from p_b and the arrivals since the last mark.

use super::Spacing;

/// The probability of the average alone: p_b in Floyd and Jacobson 1993.
#[derive(Copy, Clone, Debug)]
pub(super) struct Curve {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) gentle: bool,
}

impl Curve {
    /// 0 at `min`, `max_p` at `max`; gentle: 1 at twice `max`.
    pub(super) fn probability(&self, average: f64, max_p: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average < self.max {
            // p_b = max_p (avg - min_th) / (max_th - min_th) (Floyd and Jacobson 1993, section 4).
            max_p * (average - self.min) / (self.max - self.min)
        } else if self.gentle {
            // Gentle: on from max_p to 1 at twice max_th (Floyd 2000).
            (max_p + (1.0 - max_p) * (average - self.max) / self.max).min(1.0)
        } else {
            1.0
        }
    }

    /// The average from which on nothing is left to chance.
    pub(super) fn certain(&self) -> f64 {
        if self.gentle { 2.0 * self.max } else { self.max }
    }
}

/// The probability that spreads marks evenly: p_a, from p_b and the arrivals since the last mark.
pub(super) fn spaced(p: f64, count: f64, spacing: Spacing) -> f64 {
    let due = count * p;
    let spread = match spacing {
        // ns-2's `wait`: no mark before count p_b = 1, then uniform from 1/p_b to 2/p_b.
        Spacing::Wait if due < 1.0 => 0.0,
        Spacing::Wait if due < 2.0 => p / (2.0 - due),
        // p_a = p_b / (1 - count p_b): uniform from 1 to 1/p_b (1993, section 4).
        Spacing::NoWait if due < 1.0 => p / (1.0 - due),
        Spacing::Wait | Spacing::NoWait => 1.0,
    };
    spread.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn floyd_waits_until_the_count_reaches_one_over_p() {
        assert_eq!(spaced(0.125, 7.0, Spacing::Wait), 0.0);
        assert_eq!(spaced(0.125, 8.0, Spacing::Wait), 0.125);
        assert_eq!(spaced(0.125, 12.0, Spacing::Wait), 0.25);
        assert_eq!(spaced(0.125, 16.0, Spacing::Wait), 1.0);
    }

    #[test]
    fn the_printed_formula_starts_at_once() {
        assert_eq!(spaced(0.125, 0.0, Spacing::NoWait), 0.125);
        assert_eq!(spaced(0.125, 4.0, Spacing::NoWait), 0.25);
        assert_eq!(spaced(0.125, 8.0, Spacing::NoWait), 1.0);
    }

    #[test]
    fn gentle_rises_from_max_p_at_max_to_one_at_twice_max() {
        let gentle = Curve { min: 5.0, max: 15.0, gentle: true };
        assert_eq!(gentle.probability(15.0, 0.1), 0.1);
        assert!((gentle.probability(22.5, 0.1) - 0.55).abs() < 1e-12);
        assert_eq!(gentle.probability(30.0, 0.1), 1.0);
        let abrupt = Curve { gentle: false, ..gentle };
        assert_eq!(abrupt.probability(15.0, 0.1), 1.0);
        assert_eq!((abrupt.certain(), gentle.certain()), (15.0, 30.0));
    }

    proptest! {
        #[test]
        fn a_longer_average_never_lowers_the_probability(
            min in 0.0..50.0f64, width in 0.1..50.0f64, gentle: bool, max_p in 0.001..=1.0f64,
            average in 0.0..300.0f64, more in 0.0..100.0f64,
        ) {
            let curve = Curve { min, max: min + width, gentle };
            let (low, high) =
                (curve.probability(average, max_p), curve.probability(average + more, max_p));
            prop_assert!((0.0..=1.0).contains(&low) && (0.0..=1.0).contains(&high));
            prop_assert!(low <= high + 1e-12);
        }

        #[test]
        fn a_higher_count_never_lowers_the_probability(
            p in 0.0..=1.0f64, count in 0u32..1000, more in 0u32..100, wait: bool,
        ) {
            let spacing = if wait { Spacing::Wait } else { Spacing::NoWait };
            let low = spaced(p, f64::from(count), spacing);
            let high = spaced(p, f64::from(count + more), spacing);
            prop_assert!((0.0..=1.0).contains(&low) && low <= high);
        }
    }
}
