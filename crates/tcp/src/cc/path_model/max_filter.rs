//! The largest of the values of some last rounds.

/// A maximum over a window of rounds, of the best, second and third best value (Linux: `lib/win_minmax.c`).
#[derive(Copy, Clone, Debug, Default)]
pub(in crate::cc) struct MaxFilter {
    best: [(u32, f64); 3],
}

impl MaxFilter {
    /// The largest value; 0 before the first.
    pub(in crate::cc) fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Takes a value of this round; values that are more than `window` rounds old are forgotten.
    pub(in crate::cc) fn update(&mut self, window: u32, round: u32, value: f64) {
        let new = (round, value);
        let age = |entry: (u32, f64)| round - entry.0;
        if value >= self.best[0].1 || age(self.best[2]) > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        if age(self.best[0]) > window {
            self.best = [self.best[1], self.best[2], new];
            if age(self.best[0]) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age(self.best[1]) > window / 4 {
            // A quarter of the window has passed without a second best value.
            (self.best[1], self.best[2]) = (new, new);
        } else if self.best[2].0 == self.best[1].0 && age(self.best[2]) > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_lasts_as_long_as_the_window() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 9.0);
        for round in 1..=10 {
            filter.update(10, round, 5.0 + f64::from(round % 2));
            assert_eq!(filter.get(), 9.0, "round {round}");
        }
        filter.update(10, 11, 4.0);
        assert_eq!(filter.get(), 6.0, "the largest since");
    }

    #[test]
    fn a_larger_value_counts_at_once() {
        let mut filter = MaxFilter::default();
        for (round, value) in [(0, 3.0), (1, 7.0), (1, 5.0), (2, 8.0)] {
            filter.update(10, round, value);
        }
        assert_eq!(filter.get(), 8.0);
    }

    #[test]
    fn after_a_long_silence_only_the_new_value_counts() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 9.0);
        filter.update(10, 50, 2.0);
        assert_eq!(filter.get(), 2.0);
    }
}
