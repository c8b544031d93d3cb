//! Settings of `tc red`, and the values that tc and the kernel derive from them.

use crate::error::{check_positive, check_probability};
use crate::{ConfigError, Limit};
use windlass_base::BitRate;

/// Settings of [`TcRed`](crate::TcRed), under tc's names.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TcRedConfig {
    /// The maximum length, in bytes. Default: 400,000.
    pub limit_bytes: u64,
    /// Lower threshold of the average, in bytes. Default: 30,000.
    pub min_bytes: u32,
    /// Upper threshold, in bytes. Default: 90,000.
    pub max_bytes: u32,
    /// The average size of a packet, in bytes. Default: 1,000.
    pub avpkt_bytes: u32,
    /// The number of packets of that size that may arrive at once after idle time before the average
    /// reaches `min`. It determines the average's weight. Default: 55.
    pub burst: u32,
    /// Probability of a mark as the average reaches `max`. Default: 0.02.
    pub probability: f64,
    /// The rate by which idle time is converted to packets; tc does not read the device's rate.
    /// Default: 10 Mbit/s.
    pub bandwidth: BitRate,
    /// Mark ECN-capable packets instead of dropping them, above `max` too. Default: true.
    pub ecn: bool,
}

/// tc's default for `bandwidth`.
const TC_BANDWIDTH: BitRate = match BitRate::from_bits_per_sec(10_000_000) {
    Some(rate) => rate,
    None => panic!("not zero"),
};

/// The example of tc's manual, with tc's default for `bandwidth`.
impl Default for TcRedConfig {
    fn default() -> Self {
        TcRedConfig {
            limit_bytes: 400_000,
            min_bytes: 30_000,
            max_bytes: 90_000,
            avpkt_bytes: 1_000,
            burst: 55,
            probability: 0.02,
            bandwidth: TC_BANDWIDTH,
            ecn: true,
        }
    }
}

/// The kernel holds thresholds, scaled by the weight, in 32 bits.
const THRESHOLD_BITS: u32 = 32;

impl TcRedConfig {
    /// Makes the checks of tc and the kernel.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        Limit::Bytes(self.limit_bytes).validate()?;
        if self.min_bytes >= self.max_bytes {
            return Err(ConfigError::Thresholds);
        }
        check_positive(f64::from(self.avpkt_bytes), "avpkt")?;
        check_positive(f64::from(self.burst), "burst")?;
        check_probability(self.probability, "probability")?;
        let bits = THRESHOLD_BITS - self.max_bytes.leading_zeros();
        if bits + self.weight_log()? >= THRESHOLD_BITS {
            return Err(ConfigError::Thresholds);
        }
        Ok(())
    }

    /// The weight of a sample is two to the power of minus this: the largest with which `burst`
    /// packets find no more than `min` in the average, burst + 1 - min/avpkt <= (1 - (1-W)^burst)/W
    /// (Floyd and Jacobson 1993, section 6).
    pub(super) fn weight_log(&self) -> Result<u32, ConfigError> {
        let burst = f64::from(self.burst);
        let allowed = burst + 1.0 - f64::from(self.min_bytes) / f64::from(self.avpkt_bytes);
        if allowed < 1.0 {
            return Err(ConfigError::Burst);
        }
        // tc_red_eval_ewma() of iproute2: weights from 1/2 down, halved each time.
        (1..THRESHOLD_BITS)
            .find(|&log| {
                let weight = libm::exp2(-f64::from(log));
                allowed <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
            })
            .ok_or(ConfigError::Burst)
    }

    /// Probability of a mark a byte above `min`, in units of 2^-32, at least one.
    pub(super) fn slope(&self) -> u32 {
        // red_set_parms() of Linux: max_P / (qth_max - qth_min).
        let probability = (self.probability * 4_294_967_296.0) as u32;
        (probability / (self.max_bytes - self.min_bytes)).max(1)
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.ecn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects the `ewma` that `tc -s -d qdisc show` prints for these parameters.
    #[test]
    fn the_weight_is_tc_s() {
        let paper = TcRedConfig {
            limit_bytes: 40_000,
            min_bytes: 2_000,
            max_bytes: 8_000,
            burst: 4,
            probability: 0.3,
            ..TcRedConfig::default()
        };
        assert_eq!(paper.weight_log(), Ok(3));
        assert_eq!(TcRedConfig::default().weight_log(), Ok(5));
    }

    #[test]
    fn a_burst_that_min_cannot_hold_is_refused() {
        let config = TcRedConfig { burst: 10, ..TcRedConfig::default() };
        assert_eq!(config.validate(), Err(ConfigError::Burst));
    }

    #[test]
    fn thresholds_that_the_kernel_cannot_hold_are_refused() {
        let config = TcRedConfig { max_bytes: 1 << 30, ..TcRedConfig::default() };
        assert_eq!(config.validate(), Err(ConfigError::Thresholds));
        let config = TcRedConfig { max_bytes: 30_000, ..TcRedConfig::default() };
        assert_eq!(config.validate(), Err(ConfigError::Thresholds));
    }
}
