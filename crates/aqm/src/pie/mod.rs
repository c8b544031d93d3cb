//! PIE (RFC 8033): drops on arrival with a probability that a controller sets from the waiting
//! time and its trend.

mod controller;

use crate::config::{check_positive, check_probability};
use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{ConfigError, DropReason, Limit, Packet, Queue, Stats};
use controller::Controller;
use windlass_base::{Rng, Span, Time};

/// Settings of [`Pie`].
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct PieConfig {
    /// The most that may wait. Default: 1000 packets.
    pub limit: Limit,
    /// The waiting time that PIE steers to: QDELAY_REF. Default: 15 ms.
    pub target: Span,
    /// Time between updates of the probability: T_UPDATE. Default: 15 ms.
    pub update_interval: Span,
    /// Weight of the distance from the target, per second. Default: 0.125.
    pub alpha: f64,
    /// Weight of the change since the last update, per second. Default: 1.25.
    pub beta: f64,
    /// How long a burst after a quiet time passes untouched: MAX_BURST. Default: 150 ms.
    pub max_burst: Span,
    /// With no more than twice this many bytes waiting nothing is dropped: MEAN_PKTSIZE.
    /// Default: 1024.
    pub mean_packet_bytes: u32,
    /// ECN-capable packets are marked, not dropped, while the probability is no higher than this
    /// (mark_ecnth, RFC 8033 §5.1); `None` never marks. Default: 0.1.
    pub mark_up_to: Option<f64>,
    /// Keeps drops from coming too close together or too far apart (RFC 8033 §5.4). Default: true.
    pub derandomize: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        PieConfig {
            limit: Limit::Packets(1000),
            target: Span::from_millis(15),
            update_interval: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Span::from_millis(150),
            mean_packet_bytes: 1024,
            mark_up_to: Some(0.1),
            derandomize: true,
        }
    }
}

impl PieConfig {
    /// Checks that nothing is zero that must not be.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        check_positive(self.target.as_secs_f64(), "PIE's target")?;
        check_positive(self.update_interval.as_secs_f64(), "PIE's update interval")?;
        check_positive(self.alpha, "PIE's alpha")?;
        check_positive(self.beta, "PIE's beta")?;
        self.mark_up_to.map_or(Ok(()), |most| check_probability(most, "PIE's marking threshold"))
    }
}

/// The PIE queue.
///
/// Waiting time is measured with a timestamp on each packet, not estimated from the departure rate
/// (RFC 8033 §5.2), as Linux does by default. The periodic update is made up for at the next call;
/// since the measured delay changes only in calls, the result is that of a timer. PIE is always on:
/// §5.3's switching is left out.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    config: PieConfig,
    fifo: Fifo<Stamped<P>>,
    controller: Controller,
    /// Sum of the probabilities since the last drop (RFC 8033 §5.4).
    accumulated: f64,
    stats: Stats,
}

impl<P: Packet> Pie<P> {
    /// An empty queue. The error is the first setting that cannot work.
    pub fn new(config: PieConfig) -> Result<Pie<P>, ConfigError> {
        config.validate()?;
        Ok(Pie {
            config,
            fifo: Fifo::new(),
            controller: Controller::new(&config),
            accumulated: 0.0,
            stats: Stats::default(),
        })
    }

    /// The probability in force with which an arrival is dropped or marked.
    pub fn probability(&self) -> f64 {
        self.controller.probability()
    }

    fn chooses(&mut self, rng: &mut Rng) -> bool {
        let few = self.fifo.bytes() <= 2 * u64::from(self.config.mean_packet_bytes);
        if self.controller.allows_burst() || self.controller.is_calm(&self.config) || few {
            return false;
        }
        let p = self.controller.probability();
        let chosen =
            if self.config.derandomize { self.chooses_evenly(p, rng) } else { rng.chance(p) };
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }

    /// No drop before the probabilities sum up to 0.85, surely one at 8.5 (RFC 8033 §5.4).
    fn chooses_evenly(&mut self, p: f64, rng: &mut Rng) -> bool {
        self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
        self.accumulated >= 0.85 && (self.accumulated >= 8.5 || rng.chance(p))
    }

    fn marks(&mut self, packet: &mut P) -> bool {
        let most = self.config.mark_up_to;
        most.is_some_and(|most| self.controller.probability() <= most)
            && self.stats.try_mark(packet)
    }
}

impl<P: Packet> Queue<P> for Pie<P> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        self.controller.catch_up(now, &self.config);
        if !self.fifo.has_room(self.config.limit, packet.wire_bytes()) {
            self.stats.lose(packet, DropReason::Full, dropped);
        } else if self.chooses(rng) && !self.marks(&mut packet) {
            self.stats.lose(packet, DropReason::Early, dropped);
        } else {
            self.fifo.push(Stamped { packet, arrived: now });
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _rng: &mut Rng,
        _dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        self.controller.catch_up(now, &self.config);
        let left = self.fifo.pop()?;
        let empty = self.fifo.is_empty();
        let delay = if empty { Span::ZERO } else { now.saturating_since(left.arrived) };
        self.controller.set_delay(delay);
        self.stats.dequeue(&left);
        Some(left.packet)
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
