//! CoDel (RFC 8289): drops or marks when packets have waited too long for too long.

mod control;

pub(crate) use control::{Control, Source};

use crate::config::check_positive;
use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{ConfigError, DropReason, Limit, Packet, Queue, Stats};
use windlass_base::{Rng, Span, Time};

/// What CoDel goes by, alone and within FQ-CoDel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CoDelParams {
    /// Waiting time that a standing queue may cost. Default: 5 ms (RFC 8289 §4.3).
    pub target: Span,
    /// How long the waiting time must stay above target before the first drop; about a worst-case
    /// RTT. Default: 100 ms (RFC 8289 §4.2).
    pub interval: Span,
    /// The largest packet of the link: with no more than this behind a packet, it is not dropped.
    /// Default: 1514 bytes.
    pub max_packet_bytes: u32,
    /// Mark ECN-capable packets instead of dropping them. Default: true.
    pub ecn: bool,
}

impl Default for CoDelParams {
    fn default() -> Self {
        CoDelParams {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            max_packet_bytes: 1514,
            ecn: true,
        }
    }
}

impl CoDelParams {
    /// Checks that the spans are not zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive(self.target.as_secs_f64(), "CoDel's target")?;
        check_positive(self.interval.as_secs_f64(), "CoDel's interval")
    }
}

/// Settings of [`CoDel`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The most that may wait. Default: 1000 packets.
    pub limit: Limit,
    /// Target, interval and ECN.
    pub params: CoDelParams,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        CoDelConfig { limit: Limit::Packets(1000), params: CoDelParams::default() }
    }
}

impl CoDelConfig {
    /// Checks that nothing is zero that must not be.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        self.params.validate()
    }
}

/// One FIFO under CoDel. It drops when packets leave, not when they come, except at its limit.
#[derive(Clone, Debug)]
pub struct CoDel<P> {
    config: CoDelConfig,
    fifo: Fifo<Stamped<P>>,
    control: Control,
    stats: Stats,
}

impl<P: Packet> CoDel<P> {
    /// An empty queue. The error is the first setting that cannot work.
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

    fn len_packets(&self) -> usize {
        self.fifo.len()
    }

    fn len_bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
