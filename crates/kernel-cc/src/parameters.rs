//! New-ECN's factors. They are constants of the program (`.rodata`), so they hold for all connections of a loaded
//! controller.

use crate::Error;
use serde::Serialize;

const MILLION: f64 = 1e6;

/// New-ECN's three factors (Hamann 1999, section 3.1), which the kernel holds in millionths.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Parameters {
    /// A mark multiplies cwnd and ssthresh by this. Default: 0.9.
    pub alpha_wnd: f64,
    /// Every mark but the first multiplies the slope by this. Default: 0.9.
    pub alpha_slp: f64,
    /// After the first mark the slope grows by `beta` * SRTT² in each round trip. Unit: segments per
    /// round trip and square second. Default: 16.
    pub beta: f64,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { alpha_wnd: 0.9, alpha_slp: 0.9, beta: 16.0 }
    }
}

impl Parameters {
    /// The largest beta whose millionths fit the kernel's 32 bits.
    const BETA_MAX: f64 = 4000.0;

    /// Refuses values outside their ranges, and factors with which a mark never lowers the window.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let whole = 1.0 - 0.5 / MILLION;
        let inside = |value: f64, max: f64| value >= 0.5 / MILLION && value <= max;
        if !inside(self.alpha_wnd, whole) {
            return Err(Error::BadParameter("alpha-wnd must be above 0 and below 1".into()));
        }
        if !inside(self.alpha_slp, 1.0) {
            return Err(Error::BadParameter("alpha-slp must be above 0 and at most 1".into()));
        }
        if !(self.beta == 0.0 || inside(self.beta, Parameters::BETA_MAX)) {
            let message = format!("beta must be from 0 to {}", Parameters::BETA_MAX);
            return Err(Error::BadParameter(message));
        }
        Ok(())
    }

    /// The bytes of `struct new_ecn_parameters`.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let millionths = |value: f64| (value * MILLION).round() as u32;
        let words = [self.alpha_wnd, self.alpha_slp, self.beta].map(millionths);
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Parameters> {
        let word = |at: usize| -> Option<f64> {
            let word = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(f64::from(u32::from_ne_bytes(word)) / MILLION)
        };
        Some(Parameters { alpha_wnd: word(0)?, alpha_slp: word(4)?, beta: word(8)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_keeps_millionths() {
        let given = Parameters { alpha_wnd: 0.9, alpha_slp: 0.7, beta: 16.5 };
        assert_eq!(Parameters::from_bytes(&given.to_bytes()), Some(given));
        assert_eq!(Parameters::from_bytes(&[0; 11]), None);
    }

    #[test]
    fn a_factor_out_of_range_is_refused() {
        let bad =
            |alpha_wnd, alpha_slp, beta| Parameters { alpha_wnd, alpha_slp, beta }.check().is_err();
        assert!(!bad(0.9, 0.9, 16.0) && !bad(0.5, 1.0, 0.0) && !bad(0.999_999, 0.1, 4000.0));
        assert!(bad(1.0, 0.9, 16.0) && bad(0.0, 0.9, 16.0) && bad(-0.1, 0.9, 16.0));
        assert!(bad(0.9, 1.1, 16.0) && bad(0.9, 0.0, 16.0));
        assert!(bad(0.9, 0.9, -1.0) && bad(0.9, 0.9, 4001.0) && bad(0.9, 0.9, 1e-9));
        assert!(bad(f64::NAN, 0.9, 16.0) && bad(0.9, f64::NAN, 16.0) && bad(0.9, 0.9, f64::NAN));
    }
}
