use crate::{
    CoDel, CoDelConfig, ConfigError, Custom, CustomConfig, Discipline, DropTail, DropTailConfig,
    FqCoDel, FqCoDelConfig, Packet, Pie, PieConfig, QueueFactory, Red, RedConfig, TcRed,
    TcRedConfig,
};
use alloc::sync::Arc;
use windlass_base::BitRate;

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
