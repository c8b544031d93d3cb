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
            max_p * (average - self.min) / (self.max - self.min)
        } else if self.gentle {
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
        Spacing::Wait if due < 1.0 => 0.0,
        Spacing::Wait if due < 2.0 => p / (2.0 - due),
        Spacing::NoWait if due < 1.0 => p / (1.0 - due),
        Spacing::Wait | Spacing::NoWait => 1.0,
    };
    spread.min(1.0)
}
