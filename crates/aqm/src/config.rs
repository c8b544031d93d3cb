use crate::{
    CoDel, CoDelConfig, Custom, CustomConfig, Discipline, DropTail, DropTailConfig, FqCoDel,
    FqCoDelConfig, Packet, Pie, PieConfig, QueueFactory, Red, RedConfig, TcRed, TcRedConfig,
};
use alloc::sync::Arc;
use core::fmt;
use windlass_base::BitRate;

/// The most that may wait in a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets, however large.
    Packets(u32),
    /// So many bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Checks that the limit is not zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Limit::Packets(0) | Limit::Bytes(0) => Err(ConfigError::ZeroLimit),
            Limit::Packets(_) | Limit::Bytes(_) => Ok(()),
        }
    }
}

/// A discipline's settings that cannot work.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A queue that can hold nothing.
    ZeroLimit,
    /// RED's thresholds: 0 <= min < max must hold, both finite.
    Thresholds,
    /// A probability outside (0, 1], or bounds of one in the wrong order; its name.
    Probability(&'static str),
    /// RED's queue weight outside (0, 1].
    Weight,
    /// A burst for which [`TcRed`] finds no weight: `min` holds more packets than it.
    Burst,
    /// A size, count or span that must not be zero (or must be finite); its name.
    Zero(&'static str),
    /// A setting that is derived from the link's rate, which is not known; its name.
    NeedsLinkRate(&'static str),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::ZeroLimit => f.write_str("the queue limit is zero"),
            ConfigError::Thresholds => f.write_str("thresholds must satisfy 0 <= min < max"),
            ConfigError::Probability(name) => write!(f, "{name} is not a probability above 0"),
            ConfigError::Burst => f.write_str("burst must be at least min / avpkt"),
            ConfigError::Weight => f.write_str("the queue weight must lie in (0, 1]"),
            ConfigError::Zero(name) => write!(f, "{name} must be above zero"),
            ConfigError::NeedsLinkRate(name) => write!(f, "{name} needs a known link rate"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// `value` is a probability above zero.
pub(crate) fn check_probability(value: f64, name: &'static str) -> Result<(), ConfigError> {
    if value > 0.0 && value <= 1.0 { Ok(()) } else { Err(ConfigError::Probability(name)) }
}

/// `value` is finite and above zero.
pub(crate) fn check_positive(value: f64, name: &'static str) -> Result<(), ConfigError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(ConfigError::Zero(name)) }
}

/// A discipline and its settings, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// [`DropTail`].
    DropTail(DropTailConfig),
    /// [`Red`], adaptive or not.
    Red(RedConfig),
    /// [`CoDel`].
    CoDel(CoDelConfig),
    /// [`FqCoDel`].
    FqCoDel(FqCoDelConfig),
    /// [`Pie`].
    Pie(PieConfig),
    /// [`TcRed`].
    TcRed(TcRedConfig),
    /// One from outside this crate.
    Custom(CustomConfig),
}

impl Config {
    /// A discipline of a crate of your own.
    pub fn custom(factory: impl QueueFactory + 'static) -> Config {
        Config::Custom(CustomConfig(Arc::new(factory)))
    }

    /// Checks the settings as far as that is possible without the link's rate.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Config::DropTail(config) => config.validate(),
            Config::Red(config) => config.validate(),
            Config::CoDel(config) => config.validate(),
            Config::FqCoDel(config) => config.validate(),
            Config::Pie(config) => config.validate(),
            Config::TcRed(config) => config.validate(),
            Config::Custom(config) => config.0.validate(),
        }
    }

    /// An empty queue with these settings, for a link of the given rate. RED counts idle time by
    /// the rate; without one its average does not decay while the link is idle.
    pub fn build<P: Packet>(&self, link: Option<BitRate>) -> Result<Discipline<P>, ConfigError> {
        Ok(match self {
            Config::DropTail(config) => Discipline::DropTail(DropTail::new(*config)?),
            Config::Red(config) => Discipline::Red(Red::new(*config, link)?),
            Config::CoDel(config) => Discipline::CoDel(CoDel::new(*config)?),
            Config::FqCoDel(config) => Discipline::FqCoDel(FqCoDel::new(*config)?),
            Config::Pie(config) => Discipline::Pie(Pie::new(*config)?),
            Config::TcRed(config) => Discipline::TcRed(TcRed::new(*config)?),
            Config::Custom(config) => Discipline::Custom(Custom::new(config, link)?),
        })
    }
}
