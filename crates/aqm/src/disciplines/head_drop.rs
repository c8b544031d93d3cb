use crate::fifo::Fifo;
use crate::{ConfigError, DropReason, Limit, Packet, Queue, Stats};
use windlass_base::{Rng, Time};

/// Settings of [`HeadDrop`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HeadDropConfig {
    /// The maximum length. Default: 100 packets.
    pub limit: Limit,
}

impl Default for HeadDropConfig {
    fn default() -> Self {
        HeadDropConfig { limit: Limit::Packets(100) }
    }
}

impl HeadDropConfig {
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

/// First in, first out. A full queue drops its oldest packets, so that senders learn of the congestion a
/// queueing delay earlier than with [`DropTail`](crate::DropTail).
#[derive(Clone, Debug)]
pub struct HeadDrop<P> {
    limit: Limit,
    fifo: Fifo<P>,
    stats: Stats,
}

impl<P: Packet> HeadDrop<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: HeadDropConfig) -> Result<HeadDrop<P>, ConfigError> {
        config.validate()?;
        Ok(HeadDrop { limit: config.limit, fifo: Fifo::new(), stats: Stats::default() })
    }
}

impl<P: Packet> Queue<P> for HeadDrop<P> {
    fn enqueue(
        &mut self,
        _now: Time,
        packet: P,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        while !self.fifo.has_room(self.limit, packet.wire_bytes()) {
            let Some(oldest) = self.fifo.pop() else {
                // It does not even fit alone.
                return self.stats.lose(packet, DropReason::Full, dropped);
            };
            self.stats.lose(oldest, DropReason::Full, dropped);
        }
        self.fifo.push(packet);
    }

    fifo_dequeue!();

    fifo_accessors!();
}
