//! Stabilized RED: T. Ott, T. Lakshman, L. Wong, "SRED: Stabilized RED" (1999).

mod config;
mod zombies;

pub use config::SredConfig;

use crate::fifo::Fifo;
use crate::{ConfigError, DropReason, Limit, Packet, Queue, Stats};
use windlass_base::{Rng, Time};
use zombies::Zombies;

/// The SRED queue: it estimates the number of flows, and drops or marks by the square of it, so that
/// many flows fill the buffer no further than few.
///
/// Every arrival is compared with the zombie list, kept or not. There is no average: the queue is
/// looked at as it is, in the unit of the limit.
#[derive(Clone, Debug)]
pub struct Sred<P> {
    config: SredConfig,
    fifo: Fifo<P>,
    zombies: Zombies,
    stats: Stats,
}

impl<P: Packet> Sred<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: SredConfig) -> Result<Sred<P>, ConfigError> {
        config.validate()?;
        Ok(Sred {
            config,
            fifo: Fifo::new(),
            zombies: Zombies::new(&config),
            stats: Stats::default(),
        })
    }

    /// The estimated number of flows.
    pub fn flows(&self) -> f64 {
        1.0 / self.zombies.hit_rate()
    }

    /// The probability of the buffer alone: none below a sixth, a quarter of `max_p` below a third.
    fn of_the_buffer(&self) -> f64 {
        let (used, limit) = match self.config.limit {
            Limit::Packets(limit) => (self.fifo.len() as u64, u64::from(limit)),
            Limit::Bytes(limit) => (self.fifo.bytes(), limit),
        };
        match () {
            // p_sred of Ott et al. 1999: 0 below B/6, p_max / 4 below B/3, else p_max.
            () if used.saturating_mul(6) < limit => 0.0,
            () if used.saturating_mul(3) < limit => self.config.max_p / 4.0,
            () => self.config.max_p,
        }
    }

    /// p_zap in the paper.
    fn probability(&self, hit: bool) -> f64 {
        let flows = (self.flows() / self.config.most_flows).min(1.0);
        // Simple SRED: p_sred min(1, 1 / (256 P(t)))², with `most_flows` for 256.
        let simple = self.of_the_buffer() * flows * flows;
        // Full SRED: times 1 + Hit(t) / P(t).
        if self.config.full && hit { simple * (1.0 + self.flows()) } else { simple }
    }
}

impl<P: Packet> Queue<P> for Sred<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        let hit = self.zombies.compare(packet.flow_hash(), rng);
        let chosen = rng.chance(self.probability(hit).min(1.0));
        let action = chosen.then_some(self.config.action);
        self.fifo.admit(packet, self.config.limit, action, &mut self.stats, dropped);
    }

    fifo_dequeue!();
    fifo_accessors!();
}
