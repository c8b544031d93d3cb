//! Means with their 95 % intervals.

use serde::Serialize;

/// Quantiles of Student's t for a two-sided interval of 95 %, by degrees of freedom from 1 on.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The quantile of the normal distribution, for more samples than the table has.
const Z: f64 = 1.960;

/// A mean and its 95 % interval by Student's t.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of some samples. A single sample has no spread: its interval is the sample itself, and
    /// proves nothing.
    pub fn of(samples: &[f64]) -> Interval {
        let count = samples.len().max(1) as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
        let freedom = samples.len().saturating_sub(1);
        if freedom == 0 {
            return Interval { mean, low: mean, high: mean };
        }
        let deviation = (squares / freedom as f64).sqrt();
        let half = T.get(freedom - 1).copied().unwrap_or(Z) * deviation / count.sqrt();
        Interval { mean, low: mean - half, high: mean + half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_ten_samples_is_that_of_students_table() {
        let samples = [4.0, 5.0, 6.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0, 5.0];
        let Interval { mean, low, high } = Interval::of(&samples);
        // The deviation is sqrt(6 / 9), the error of the mean a sqrt(10)th of it, and t is 2.262.
        assert!((mean - 5.0).abs() < 1e-12);
        assert!((high - mean - 0.5841).abs() < 1e-4, "{high}");
        assert!((mean - low - 0.5841).abs() < 1e-4, "{low}");
    }

    #[test]
    fn equal_samples_have_no_width() {
        assert_eq!(Interval::of(&[3.0; 4]), Interval { mean: 3.0, low: 3.0, high: 3.0 });
    }
}
