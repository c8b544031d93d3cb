//! The share of packets that RED marks at a given average, for the model.

/// RED with Floyd's spacing of marks (`wait`), as the model needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Red {
    /// Thresholds of the average in packets.
    pub thresholds: [f64; 2],
    /// Probability at the upper threshold.
    pub max_p: f64,
    /// The probability rises from `max_p` to 1 between the upper threshold and twice that.
    pub gentle: bool,
    /// Weight of a sample in the average.
    pub weight: f64,
}

impl Default for Red {
    /// The setting of section 4.2.1, with 10 Mbit/s.
    fn default() -> Red {
        Red { thresholds: [10.0, 20.0], max_p: 0.1, gentle: false, weight: 0.002 }
    }
}

impl Red {
    /// The average from which on no packet passes unharmed.
    pub(super) fn certain(&self) -> f64 {
        if self.gentle { 2.0 * self.thresholds[1] } else { self.thresholds[1] }
    }

    /// The share of packets that is marked at this average.
    pub(super) fn marked_share(&self, average: f64) -> f64 {
        let [min, max] = self.thresholds;
        // p_b of Floyd and Jacobson 1993, gentle above the upper threshold.
        let p = if average < max {
            self.max_p * ((average - min) / (max - min)).max(0.0)
        } else {
            self.max_p + (1.0 - self.max_p) * (average - max) / max
        };
        // The share of marks is the inverse of their mean distance.
        if p > 0.0 { 1.0 / mean_distance(p.min(1.0)) } else { 0.0 }
    }

    /// How steeply the marked share rises with the average.
    pub(super) fn steepness(&self, average: f64) -> f64 {
        let step = 1e-3 * (self.certain() - self.thresholds[0]);
        // A difference quotient; `certain` bounds the curve.
        let (low, high) = (average - step, (average + step).min(self.certain()));
        (self.marked_share(high) - self.marked_share(low)) / (high - low)
    }
}

/// Mean distance between marks: none until p times the packets since the last is 1, then with
/// p/(2 - that). About 1.5/p.
fn mean_distance(p: f64) -> f64 {
    if p < 0.02 {
        // Uniform from 1/p to 2/p.
        return 1.5 / p + 0.5;
    }
    let (mut distance, mut unmarked, mut count) = (0.0, 1.0, 0.0);
    // A mean is the sum of the probabilities that the distance is longer.
    while unmarked > 1e-12 {
        count += 1.0;
        distance += unmarked;
        let due = count * p;
        let chance = if due < 1.0 { 0.0 } else { (p / (2.0 - due).max(p)).min(1.0) };
        unmarked *= 1.0 - chance;
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_half_as_far_again_apart_as_the_inverse_probability() {
        for p in [0.001, 0.0199, 0.02, 0.05, 0.2] {
            let distance = mean_distance(p);
            assert!((distance * p - 1.5).abs() < 0.03 + p, "{distance} at {p}");
        }
        assert_eq!(mean_distance(1.0), 1.0);
    }

    #[test]
    fn the_share_rises_with_the_average() {
        for gentle in [false, true] {
            let red = Red { gentle, ..Red::default() };
            let shares: Vec<f64> =
                (0..100).map(|n| red.marked_share(red.certain() * f64::from(n) / 100.0)).collect();
            assert!(shares.is_sorted() && shares[0] == 0.0);
            assert!(red.steepness(15.0) > 0.0);
        }
    }
}
