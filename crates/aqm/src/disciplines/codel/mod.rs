//! CoDel (RFC 8289): drops or marks while the sojourn time has been above a target for an interval.

mod config;
mod control;

pub use config::{CoDelConfig, CoDelParams};
pub(crate) use control::{Control, Source};

use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use windlass_base::{Rng, Time};

/// One FIFO under CoDel. It drops packets at dequeue; only at its limit does it drop arriving ones.
#[derive(Clone, Debug)]
pub struct CoDel<P> {
    config: CoDelConfig,
    fifo: Fifo<Stamped<P>>,
    control: Control,
    stats: Stats,
}

impl<P: Packet> CoDel<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: CoDelConfig) -> Result<CoDel<P>, ConfigError> {
        config.validate()?;
        let (control, stats) = (Control::default(), Stats::default());
        Ok(CoDel { config, fifo: Fifo::new(), control, stats })
    }
}

impl<P: Packet> Queue<P> for CoDel<P> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: P,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        if self.fifo.has_room(self.config.limit, packet.wire_bytes()) {
            self.fifo.push(Stamped { packet, arrived: now });
        } else {
            self.stats.lose(packet, DropReason::Full, dropped);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        let mut source = Source {
            params: &self.config.params,
            fifo: &mut self.fifo,
            stats: &mut self.stats,
            dropped,
        };
        let packet = self.control.dequeue(now, &mut source)?;
        self.stats.dequeue(&packet);
        Some(packet)
    }

    fifo_accessors!();
}
