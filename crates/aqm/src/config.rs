use crate::{
    CoDel, CoDelConfig, ConfigError, Custom, CustomConfig, Discipline, DropTail, DropTailConfig,
    FixedProbability, FixedProbabilityConfig, FqCoDel, FqCoDelConfig, Packet, Pie, PieConfig,
    QueueFactory, Red, RedConfig, Sred, SredConfig, TcRed, TcRedConfig,
};
use alloc::sync::Arc;
use windlass_base::BitRate;

/// A discipline and its settings, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// Settings of [`DropTail`].
    DropTail(DropTailConfig),
    /// Settings of [`Red`], whether it adapts or not.
    Red(RedConfig),
    /// Settings of [`CoDel`].
    CoDel(CoDelConfig),
    /// Settings of [`FqCoDel`].
    FqCoDel(FqCoDelConfig),
    /// Settings of [`Pie`].
    Pie(PieConfig),
    /// Settings of [`FixedProbability`].
    FixedProbability(FixedProbabilityConfig),
    /// Settings of [`Sred`].
    Sred(SredConfig),
    /// Settings of [`TcRed`].
    TcRed(TcRedConfig),
    /// A discipline from outside this crate.
    Custom(CustomConfig),
}

impl Config {
    /// A discipline of a crate of your own.
    pub fn custom(factory: impl QueueFactory + 'static) -> Config {
        Config::Custom(CustomConfig(Arc::new(factory)))
    }

    /// Checks the settings, except those that depend on the link's rate.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Config::DropTail(config) => config.validate(),
            Config::Red(config) => config.validate(),
            Config::CoDel(config) => config.validate(),
            Config::FqCoDel(config) => config.validate(),
            Config::Pie(config) => config.validate(),
            Config::FixedProbability(config) => config.validate(),
            Config::Sred(config) => config.validate(),
            Config::TcRed(config) => config.validate(),
            Config::Custom(config) => config.0.validate(),
        }
    }

    /// Builds an empty queue with these settings, for a link of the given rate. RED counts idle time
    /// by the rate; without one its average does not decay while the link is idle.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work, or [`ConfigError::NeedsLinkRate`] if RED's weight is to
    /// come from a rate that is not given.
    pub fn build<P: Packet>(&self, link: Option<BitRate>) -> Result<Discipline<P>, ConfigError> {
        Ok(match self {
            Config::DropTail(config) => Discipline::DropTail(DropTail::new(*config)?),
            Config::Red(config) => Discipline::Red(Red::new(*config, link)?),
            Config::CoDel(config) => Discipline::CoDel(CoDel::new(*config)?),
            Config::FqCoDel(config) => Discipline::FqCoDel(FqCoDel::new(*config)?),
            Config::Pie(config) => Discipline::Pie(Pie::new(*config)?),
            Config::FixedProbability(config) => {
                Discipline::FixedProbability(FixedProbability::new(*config)?)
            }
            Config::Sred(config) => Discipline::Sred(Sred::new(*config)?),
            Config::TcRed(config) => Discipline::TcRed(TcRed::new(*config)?),
            Config::Custom(config) => Discipline::Custom(Custom::new(config, link)?),
        })
    }
}
