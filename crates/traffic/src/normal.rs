//! The standard normal distribution.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// The probability of a value up to `x`.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The value up to which the probability is `p`; infinite for 0 and 1.
pub(crate) fn quantile(p: f64) -> f64 {
    match p {
        _ if p <= 0.0 => f64::NEG_INFINITY,
        _ if p >= 1.0 => f64::INFINITY,
        // 1 - p is exact here.
        _ if p > 0.5 => -lower(1.0 - p),
        _ => lower(p),
    }
}

/// The quantile of a probability of at most one half: an estimate, which two steps of Halley's method
/// bring to the precision of an `f64`.
fn lower(p: f64) -> f64 {
    (0..2).fold(estimate(p), |x, _| {
        let error = (cdf(x) - p) * libm::sqrt(2.0 * PI) * libm::exp(x * x / 2.0);
        x - error / (1.0 + x * error / 2.0)
    })
}

/// Abramowitz and Stegun, formula 26.2.23: within 4.5e-4.
fn estimate(p: f64) -> f64 {
    let t = libm::sqrt(-2.0 * libm::log(p));
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    above / below - t
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The percentage points of every table of the normal distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.025, -1.959_963_984_540_054),
            (0.99, 2.326_347_874_040_841),
            (0.999_9, 3.719_016_485_455_709),
        ] {
            assert!((quantile(p) - expected).abs() < 1e-13, "{p}: {}", quantile(p));
        }
    }

    #[test]
    fn the_quantile_inverts_the_distribution_far_into_the_tails() {
        for exponent in 1..=53 {
            let p = libm::exp2(-f64::from(exponent));
            assert!((cdf(quantile(p)) / p - 1.0).abs() < 1e-12, "{p}");
        }
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
