//! DropTail: first in, first out, up to a limit.

use crate::fifo::Fifo;
use crate::{ConfigError, DropReason, Limit, Packet, Queue, Stats};
use windlass_base::{Rng, Time};

/// Settings of [`DropTail`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DropTailConfig {
    /// The maximum length. Default: 100 packets.
    ///
    /// ns-2's DropTail holds one packet less than its limit says; this one holds exactly the limit.
    pub limit: Limit,
}

impl Default for DropTailConfig {
    fn default() -> Self {
        DropTailConfig { limit: Limit::Packets(100) }
    }
}

impl DropTailConfig {
    /// Checks that something fits into the queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        false
    }
}

/// First in, first out. The queue drops arriving packets that exceed its limit.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    limit: Limit,
    fifo: Fifo<P>,
    stats: Stats,
}

impl<P: Packet> DropTail<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: DropTailConfig) -> Result<DropTail<P>, ConfigError> {
        config.validate()?;
        Ok(DropTail { limit: config.limit, fifo: Fifo::new(), stats: Stats::default() })
    }
}

impl<P: Packet> Queue<P> for DropTail<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: P,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        if self.fifo.has_room(self.limit, packet.wire_bytes()) {
            self.fifo.push(packet);
        } else {
            self.stats.lose(packet, DropReason::Full, dropped);
        }
    }

    fifo_dequeue!();

    fn pass(
        &mut self,
        _now: Time,
        packet: P,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        self.stats.offer(&packet);
        if !self.fifo.has_room(self.limit, packet.wire_bytes()) {
            self.stats.lose(packet, DropReason::Full, dropped);
            return None;
        }
        self.stats.dequeue(&packet);
        Some(packet)
    }

    fifo_accessors!();
}
