//! Intervals of 95 %: of shares, of their difference, and of the difference of medians.

use serde::Serialize;
use windlass_base::Rng;

/// The two-sided quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_964;
/// Resamples of a bootstrap.
const RESAMPLES: usize = 2000;

/// An estimate, and the interval of 95 % confidence around it.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The share of `some` in `all`, with Wilson's score interval. Without any it is 0 to 1.
pub(super) fn share(some: u64, all: u64) -> Estimate {
    if all == 0 {
        return Estimate { value: 0.0, low: 0.0, high: 1.0 };
    }
    let (n, value) = (all as f64, some as f64 / all as f64);
    // Wilson 1927: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).
    let middle = value + Z * Z / (2.0 * n);
    let half = Z * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt();
    let end = |end: f64| (end / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
    Estimate { value, low: end(middle - half), high: end(middle + half) }
}

/// The difference `more - less` of two shares, from their Wilson intervals (Newcombe 1998, method 10).
pub(super) fn share_difference(more: Estimate, less: Estimate) -> Estimate {
    let value = more.value - less.value;
    // Square root of the sum of squares of the two one-sided distances.
    let below = (more.value - more.low).hypot(less.high - less.value);
    let above = (more.high - more.value).hypot(less.value - less.low);
    Estimate { value, low: value - below, high: value + above }
}

/// The median; of an even count the mean of the two in the middle. `None` without a number.
pub(super) fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => sorted.get(middle).copied(),
        _ => Some(sorted[middle - 1].midpoint(sorted[middle])),
    }
}

/// The difference of the medians `more - less`, with the percentile interval of a bootstrap over the
/// numbers. `None` if one of the two is empty. The same numbers give the same interval.
pub(super) fn median_difference(more: &[f64], less: &[f64]) -> Option<Estimate> {
    let value = median(more)? - median(less)?;
    let mut rng = Rng::new(0);
    let mut again = |numbers: &[f64]| -> Option<f64> {
        let draw = |_: &f64| numbers[rng.below(numbers.len() as u64) as usize];
        median(&numbers.iter().map(draw).collect::<Vec<f64>>())
    };
    let mut differences = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        differences.push(again(more)? - again(less)?);
    }
    differences.sort_by(f64::total_cmp);
    let at = |share: f64| differences[((RESAMPLES - 1) as f64 * share).round() as usize];
    Some(Estimate { value, low: at(0.025), high: at(0.975) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(estimate: Estimate) -> [f64; 3] {
        [estimate.value, estimate.low, estimate.high].map(|x| (x * 1e4).round() / 1e4)
    }

    /// Newcombe 1998, Statistics in Medicine 17, pages 857 to 872 and 873 to 890.
    #[test]
    fn shares_and_their_differences_have_the_published_intervals() {
        assert_eq!(rounded(share(81, 263)), [0.308, 0.2553, 0.3662]);
        assert_eq!(rounded(share(0, 20)), [0.0, 0.0, 0.1611]);
        let difference = share_difference(share(56, 70), share(48, 80));
        assert_eq!(rounded(difference), [0.2, 0.0524, 0.3339]);
        assert_eq!(share(0, 0).high, 1.0);
    }

    #[test]
    fn the_interval_of_a_difference_of_medians_covers_it_in_19_of_20_samples() {
        let mut rng = Rng::new(7);
        let mut sample = |mean: f64| -> Vec<f64> {
            (0..25).map(|_| mean + rng.uniform() - rng.uniform()).collect()
        };
        let covers = (0..200).filter(|_| {
            let estimate = median_difference(&sample(5.0), &sample(2.0)).expect("numbers");
            (estimate.low..=estimate.high).contains(&3.0)
        });
        let covers = covers.count();
        assert!((180..=200).contains(&covers), "{covers} of 200");
        assert_eq!(median_difference(&[], &[1.0]), None);
        let same = median_difference(&[4.0; 5], &[1.0; 5]).expect("numbers");
        assert_eq!((same.value, same.low, same.high), (3.0, 3.0, 3.0));
    }
}
