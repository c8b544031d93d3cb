//! The recent values of a quantity.

use std::collections::VecDeque;

/// Values kept: a minute at four a second.
pub(crate) const KEPT: usize = 240;

/// The last [`KEPT`] values of a quantity, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(VecDeque<f64>);

impl Series {
    /// Adds a value, and forgets the oldest one if there are too many.
    pub(crate) fn push(&mut self, value: f64) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        // The sum of nothing is -0.0, which would be printed with its sign.
        self.0.push_back(value + 0.0);
    }

    /// The values, the oldest first.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.0.iter().copied().collect()
    }

    /// The mean of the last `count` values, or of all if there are fewer; 0 without any.
    pub(crate) fn recent_mean(&self, count: usize) -> f64 {
        let recent = self.0.iter().rev().take(count);
        let found = recent.len();
        if found == 0 { 0.0 } else { recent.sum::<f64>() / found as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_value_makes_room() {
        let mut series = Series::default();
        (0..KEPT + 2).for_each(|value| series.push(value as f64));
        let values = series.values();
        assert_eq!((values.len(), values[0], values[KEPT - 1]), (KEPT, 2.0, (KEPT + 1) as f64));
    }

    #[test]
    fn nothing_has_no_sign() {
        let mut series = Series::default();
        series.push(std::iter::empty::<f64>().sum());
        assert!(series.recent_mean(1).is_sign_positive());
    }

    #[test]
    fn a_mean_is_of_what_is_there() {
        let mut series = Series::default();
        assert_eq!(series.recent_mean(4), 0.0);
        [9.0, 1.0, 3.0].into_iter().for_each(|value| series.push(value));
        assert_eq!((series.recent_mean(2), series.recent_mean(10)), (2.0, 13.0 / 3.0));
    }
}
