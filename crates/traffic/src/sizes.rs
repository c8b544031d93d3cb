//! Sizes of transfers.

use crate::{ConfigError, EmpiricalCdf, normal};
use std::sync::Arc;
use windlass_base::Rng;

/// The sizes of transfers, in bytes.
///
/// A size is drawn by inversion: the [quantile](Sizes::quantile) of one uniform draw, rounded to whole
/// bytes, at least one. [`mean`](Sizes::mean) and [`cdf`](Sizes::cdf) are those before rounding, which
/// changes the mean by less than half a byte as long as hardly any size is below one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sizes {
    /// Each the same.
    Fixed(u64),
    /// Each whole number of bytes from `min` to `max` is equally likely.
    Uniform {
        /// The least size.
        min: u64,
        /// The greatest size.
        max: u64,
    },
    /// Exponentially distributed.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Pareto: the probability of more than x bytes is (`minimum` / x)^`shape`.
    Pareto {
        /// The exponent. Up to 1 the mean is infinite, and up to 2 the variance, without a maximum.
        shape: f64,
        /// The least size.
        minimum: f64,
        /// The greatest size: the distribution is that of sizes that are not above it. `None`: no limit.
        maximum: Option<f64>,
    },
    /// The logarithm is normally distributed.
    LogNormal {
        /// The median.
        median: f64,
        /// The standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Points of a measured curve.
    Empirical(Arc<EmpiricalCdf>),
}

impl Sizes {
    /// Checks that the sizes are a distribution.
    ///
    /// # Errors
    ///
    /// The setting that is not possible.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match *self {
            Sizes::Fixed(bytes) => check(bytes > 0, ConfigError::NoBytes),
            Sizes::Uniform { min, max } => {
                check(min > 0, ConfigError::NoBytes)?;
                check(min <= max && max < 1 << 53, ConfigError::Range)
            }
            Sizes::Exponential { mean } => check_bytes(mean),
            Sizes::Pareto { shape, minimum, maximum } => {
                check(shape > 0.0 && shape.is_finite(), ConfigError::Shape)?;
                check_bytes(minimum)?;
                let most = maximum.unwrap_or(f64::MAX);
                check(most > minimum && most.is_finite(), ConfigError::Range)
            }
            Sizes::LogNormal { median, sigma } => {
                check(sigma > 0.0 && sigma.is_finite(), ConfigError::Sigma)?;
                check_bytes(median)
            }
            Sizes::Empirical(_) => Ok(()),
        }
    }

    /// Draws a size, in bytes, at least 1. A fixed size takes no random number, any other takes one.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            _ => self.at(rng.uniform()),
        }
    }

    /// The size in whole bytes for a uniform draw of `u`.
    pub(crate) fn at(&self, u: f64) -> u64 {
        // Far beyond what fits, the conversion takes the greatest number.
        (libm::round(self.quantile(u)) as u64).max(1)
    }

    /// The size in bytes, up to which the probability is `u`, for `u` from 0 to 1.
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Sizes::Fixed(bytes) => *bytes as f64,
            Sizes::Uniform { min, max } => {
                let sizes = (max - min + 1) as f64;
                *min as f64 + libm::floor(u * sizes).min(sizes - 1.0)
            }
            Sizes::Exponential { mean } => -mean * libm::log1p(-u),
            Sizes::Pareto { shape, minimum, maximum } => {
                let share = within(*shape, *minimum, *maximum);
                minimum * libm::exp(-libm::log1p(-u * share) / shape)
            }
            Sizes::LogNormal { median, sigma } => median * libm::exp(sigma * normal::quantile(u)),
            Sizes::Empirical(table) => table.quantile(u),
        }
    }

    /// The mean, in bytes; infinite for a Pareto distribution with a shape of at most 1 and no maximum.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(bytes) => *bytes as f64,
            Sizes::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            Sizes::Exponential { mean } => *mean,
            Sizes::Pareto { shape, minimum, maximum: None } if *shape > 1.0 => {
                shape * minimum / (shape - 1.0)
            }
            Sizes::Pareto { maximum: None, .. } => f64::INFINITY,
            Sizes::Pareto { shape, minimum, maximum: Some(maximum) } => {
                bounded_mean(*shape, *minimum, *maximum)
            }
            Sizes::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Sizes::Empirical(table) => table.mean(),
        }
    }

    /// The probability of at most `bytes`.
    pub fn cdf(&self, bytes: f64) -> f64 {
        match self {
            Sizes::Fixed(fixed) => f64::from(u8::from(bytes >= *fixed as f64)),
            Sizes::Uniform { min, max } => {
                let up_to = libm::floor(bytes) - *min as f64 + 1.0;
                (up_to / (max - min + 1) as f64).clamp(0.0, 1.0)
            }
            Sizes::Exponential { mean } => -libm::expm1(-bytes.max(0.0) / mean),
            Sizes::Pareto { shape, minimum, maximum } => {
                let bytes = bytes.max(*minimum);
                let below = -libm::expm1(shape * libm::log(minimum / bytes));
                (below / within(*shape, *minimum, *maximum)).min(1.0)
            }
            Sizes::LogNormal { .. } if bytes <= 0.0 => 0.0,
            Sizes::LogNormal { median, sigma } => normal::cdf(libm::log(bytes / median) / sigma),
            Sizes::Empirical(table) => table.cdf(bytes),
        }
    }
}

fn check(possible: bool, error: ConfigError) -> Result<(), ConfigError> {
    if possible { Ok(()) } else { Err(error) }
}

fn check_bytes(bytes: f64) -> Result<(), ConfigError> {
    check(bytes >= 1.0 && bytes.is_finite(), ConfigError::Bytes)
}

/// The share of a Pareto distribution that is not above the maximum.
fn within(shape: f64, minimum: f64, maximum: Option<f64>) -> f64 {
    maximum.map_or(1.0, |maximum| -libm::expm1(shape * libm::log(minimum / maximum)))
}

/// The integral of x times the density, over the share within the maximum. `expm1(y) / y` is 1 at 0, so
/// that a shape of 1 is no special case but for the division.
fn bounded_mean(shape: f64, minimum: f64, maximum: f64) -> f64 {
    let ratio = libm::log(maximum / minimum);
    let y = (1.0 - shape) * ratio;
    let slope = if y == 0.0 { 1.0 } else { libm::expm1(y) / y };
    shape * minimum * ratio * slope / within(shape, minimum, Some(maximum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let bounded = |shape, minimum, maximum| Sizes::Pareto { shape, minimum, maximum };
        for (sizes, error) in [
            (Sizes::Fixed(0), ConfigError::NoBytes),
            (Sizes::Uniform { min: 0, max: 5 }, ConfigError::NoBytes),
            (Sizes::Uniform { min: 6, max: 5 }, ConfigError::Range),
            (Sizes::Uniform { min: 6, max: u64::MAX }, ConfigError::Range),
            (Sizes::Exponential { mean: 0.5 }, ConfigError::Bytes),
            (Sizes::Exponential { mean: f64::NAN }, ConfigError::Bytes),
            (bounded(0.0, 5.0, None), ConfigError::Shape),
            (bounded(1.2, f64::INFINITY, None), ConfigError::Bytes),
            (bounded(1.2, 5.0, Some(5.0)), ConfigError::Range),
            (Sizes::LogNormal { median: 5.0, sigma: 0.0 }, ConfigError::Sigma),
            (Sizes::LogNormal { median: 0.0, sigma: 1.0 }, ConfigError::Bytes),
        ] {
            assert_eq!(sizes.validate(), Err(error), "{sizes:?}");
        }
    }

    #[test]
    fn a_bounded_pareto_with_shape_one_lies_between_its_neighbours() {
        let mean = |shape| bounded_mean(shape, 1000.0, 1e6);
        // m ln(M / m) / (1 - m / M)
        let exact = 1000.0 * libm::log(1000.0) / 0.999;
        assert!((mean(1.0) / exact - 1.0).abs() < 1e-12);
        assert!((mean(1.0 - 1e-9) / exact - 1.0).abs() < 1e-7);
        assert!((mean(1.0 + 1e-9) / exact - 1.0).abs() < 1e-7);
        // A far maximum changes nothing: shape times minimum over shape - 1.
        assert!((bounded_mean(3.0, 1000.0, 1e12) - 1500.0).abs() < 1e-6);
    }

    #[test]
    fn the_extremes_of_a_draw_are_sizes() {
        for sizes in [
            Sizes::Exponential { mean: 1000.0 },
            Sizes::Pareto { shape: 0.1, minimum: 1.0, maximum: None },
            Sizes::LogNormal { median: 1e9, sigma: 50.0 },
            Sizes::Empirical(Arc::new(EmpiricalCdf::web_search())),
        ] {
            for u in [0.0, 1.0 - libm::exp2(-53.0)] {
                assert!(sizes.at(u) >= 1, "{sizes:?}");
            }
        }
        assert_eq!(Sizes::Uniform { min: 3, max: 5 }.at(1.0 - libm::exp2(-53.0)), 5);
    }
}
