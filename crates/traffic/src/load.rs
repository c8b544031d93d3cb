//! How many arrivals a second load a link to a share of its rate.

use crate::{ConfigError, Sizes};
use windlass_base::BitRate;

/// Strata of the mean part of a segment that stays empty.
const STRATA: u32 = 1 << 16;

/// How transfers are cut into packets.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// The payload of a full segment, in bytes.
    pub mss: u32,
    /// The headers of a segment, in bytes as the link counts them.
    pub header_bytes: u32,
}

impl Segments {
    /// The mean bytes of a transfer on the wire: its payload, and the headers of its segments. The
    /// error in the mean number of segments is at most 0.005.
    ///
    /// A transfer has the segments that its payload fills, and a part of one that stays empty. The first
    /// has the exact mean; the mean of the second is taken over equal strata of the distribution.
    fn mean_bytes(self, sizes: &Sizes) -> f64 {
        let mss = f64::from(self.mss);
        let empty: f64 = (0..STRATA)
            .map(|stratum| {
                let u = (f64::from(stratum) + 0.5) / f64::from(STRATA);
                let filled = sizes.at(u) as f64 / mss;
                libm::ceil(filled) - filled
            })
            .sum();
        let segments = sizes.mean() / mss + empty / f64::from(STRATA);
        sizes.mean() + segments * f64::from(self.header_bytes)
    }
}

/// The arrivals per second of which the mean bytes on the wire are the share `load` of `link`, above 1
/// too. Retransmissions, acknowledgments, and packets that open or close a connection are not counted.
///
/// # Errors
///
/// The load is not above zero, the sizes are wrong or have no mean, or the segments have no payload.
pub fn rate_for_load(
    load: f64,
    link: BitRate,
    sizes: &Sizes,
    segments: Segments,
) -> Result<f64, ConfigError> {
    sizes.validate()?;
    if !(load > 0.0 && load.is_finite()) {
        return Err(ConfigError::Load);
    }
    if segments.mss == 0 {
        return Err(ConfigError::Segments);
    }
    let bytes = segments.mean_bytes(sizes);
    if !bytes.is_finite() {
        return Err(ConfigError::NoMean);
    }
    Ok(load * link.bits_per_sec() as f64 / 8.0 / bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EmpiricalCdf;
    use std::sync::Arc;

    const ETHERNET: Segments = Segments { mss: 1448, header_bytes: 52 };

    /// The sum over k of the probability that a size, in whole bytes, is above k segments.
    fn mean_segments(sizes: &Sizes, mss: u32) -> f64 {
        let above = |k: u32| 1.0 - sizes.cdf(f64::from(k) * f64::from(mss) + 0.499_999);
        1.0 + (1..2_000_000).map(above).take_while(|p| *p > 1e-12).sum::<f64>()
    }

    #[test]
    fn a_fixed_size_is_exact() {
        let link = BitRate::from_bits_per_sec(8_000_000).expect("not zero");
        // Two segments: 1449 bytes and twice 52.
        let rate = rate_for_load(0.5, link, &Sizes::Fixed(1449), ETHERNET).expect("possible");
        assert!((rate - 500_000.0 / 1553.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn the_mean_number_of_segments_is_that_of_the_sum() {
        for sizes in [
            Sizes::Uniform { min: 1, max: 2000 },
            Sizes::Exponential { mean: 3000.0 },
            Sizes::Pareto { shape: 1.2, minimum: 500.0, maximum: Some(1e8) },
            Sizes::LogNormal { median: 4000.0, sigma: 1.5 },
            Sizes::Empirical(Arc::new(EmpiricalCdf::web_search())),
            Sizes::Empirical(Arc::new(EmpiricalCdf::data_mining())),
        ] {
            let bytes = ETHERNET.mean_bytes(&sizes);
            let found = (bytes - sizes.mean()) / f64::from(ETHERNET.header_bytes);
            let exact = mean_segments(&sizes, ETHERNET.mss);
            assert!((found - exact).abs() < 0.005, "{sizes:?}: {found}, exactly {exact}");
        }
    }

    #[test]
    fn what_gives_no_rate_is_refused() {
        let link = BitRate::from_bits_per_sec(1).expect("not zero");
        let rate = |load, sizes: &Sizes| rate_for_load(load, link, sizes, ETHERNET);
        assert_eq!(rate(0.0, &Sizes::Fixed(1)), Err(ConfigError::Load));
        assert_eq!(rate(f64::NAN, &Sizes::Fixed(1)), Err(ConfigError::Load));
        assert_eq!(rate(1.0, &Sizes::Fixed(0)), Err(ConfigError::NoBytes));
        let endless = Sizes::Pareto { shape: 1.0, minimum: 1.0, maximum: None };
        assert_eq!(rate(1.0, &endless), Err(ConfigError::NoMean));
        let none = Segments { mss: 0, header_bytes: 40 };
        assert_eq!(rate_for_load(1.0, link, &Sizes::Fixed(1), none), Err(ConfigError::Segments));
    }
}
