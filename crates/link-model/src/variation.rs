//! The settings of everything that varies on a link. Each part of the crate is built from its own.

use crate::{Aggregation, ConfigError, DeliveryTrace, Outage, Steps, TokenBucket, WifiJitter};
use std::sync::Arc;
use windlass_base::{BitRate, Span};

/// Behaviour of a link beyond a fixed rate and delay. Default: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variation {
    /// The rate, where it is not fixed.
    pub rate: Option<RateOverTime>,
    /// The propagation delay, where it is not fixed. Packets stay in order.
    pub delay: Option<Steps<Span>>,
    /// Added to the propagation delay. Packets stay in order.
    pub wifi_jitter: Option<WifiJitter>,
    /// Packets beyond this wait.
    pub shaper: Option<TokenBucket>,
    /// Packets beyond this are dropped.
    pub policer: Option<TokenBucket>,
    /// Packets arrive in batches.
    pub aggregation: Option<Aggregation>,
    /// Times without a link.
    pub outages: Vec<Outage>,
}

impl Variation {
    /// True if there is nothing beside a fixed rate and delay.
    pub fn is_none(&self) -> bool {
        *self == Variation::default()
    }

    /// Checks each setting.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.rate.as_ref().map_or(Ok(()), RateOverTime::validate)?;
        self.shaper.as_ref().map_or(Ok(()), TokenBucket::validate)?;
        self.policer.as_ref().map_or(Ok(()), TokenBucket::validate)?;
        self.aggregation.as_ref().map_or(Ok(()), Aggregation::validate)?;
        self.outages.iter().try_for_each(Outage::validate)
    }
}

/// A rate that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateOverTime {
    /// It is constant between given times. `None`: the link stands still.
    Steps(Steps<Option<BitRate>>),
    /// The link delivers at the times of a trace.
    Trace(Arc<DeliveryTrace>),
}

impl RateOverTime {
    /// The mean rate of a round, at least 1 bit/s.
    pub fn mean(&self) -> BitRate {
        match self {
            RateOverTime::Trace(trace) => trace.mean_rate(),
            RateOverTime::Steps(steps) => {
                // Weighted by time: the sum of rate times length, over the length of a round.
                let (mut bit_ns, mut ns) = (0, 0);
                for (rate, length) in steps.lengths() {
                    let length = u128::from(length.as_nanos());
                    bit_ns += rate.map_or(0, |rate| u128::from(rate.bits_per_sec())) * length;
                    ns += length;
                }
                let mean = u64::try_from(bit_ns / ns.max(1)).unwrap_or(u64::MAX).max(1);
                BitRate::from_bits_per_sec(mean).expect("at least 1")
            }
        }
    }

    /// Checks that packets leave at some time.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NoRate`] if none ever does.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            RateOverTime::Steps(steps) if steps.values().all(|rate| rate.is_none()) => {
                Err(ConfigError::NoRate)
            }
            RateOverTime::Steps(_) | RateOverTime::Trace(_) => Ok(()),
        }
    }
}
