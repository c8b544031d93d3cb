//! A discipline for experiments: the same probability for every packet.

use crate::error::check_probability;
use crate::fifo::Fifo;
use crate::{ConfigError, DropReason, EarlyAction, Limit, Packet, Queue, Stats};
use windlass_base::{Rng, Time};

/// Settings of [`FixedProbability`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct FixedProbabilityConfig {
    /// The maximum length. Default: 100 packets.
    pub limit: Limit,
    /// The probability for each packet. Default: 0.01.
    pub probability: f64,
    /// Action on packets chosen at random. Default: mark.
    pub action: EarlyAction,
}

impl Default for FixedProbabilityConfig {
    fn default() -> Self {
        let limit = Limit::Packets(100);
        FixedProbabilityConfig { limit, probability: 0.01, action: EarlyAction::Mark }
    }
}

impl FixedProbabilityConfig {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        check_probability(self.probability, "probability")
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.action == EarlyAction::Mark
    }
}

/// First in, first out; each arrival is marked or dropped with the same probability, whatever waits.
/// It shows how a controller responds to a probability, without the feedback of a real queue.
#[derive(Clone, Debug)]
pub struct FixedProbability<P> {
    config: FixedProbabilityConfig,
    fifo: Fifo<P>,
    stats: Stats,
}

impl<P: Packet> FixedProbability<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: FixedProbabilityConfig) -> Result<FixedProbability<P>, ConfigError> {
        config.validate()?;
        Ok(FixedProbability { config, fifo: Fifo::new(), stats: Stats::default() })
    }
}

impl<P: Packet> Queue<P> for FixedProbability<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        let chosen = rng.chance(self.config.probability);
        let action = chosen.then_some(self.config.action);
        self.fifo.admit(packet, self.config.limit, action, &mut self.stats, dropped);
    }

    fifo_dequeue!();
    fifo_accessors!();
}
