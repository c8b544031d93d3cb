//! PIE (RFC 8033): drops on arrival with a probability that a controller derives from the queueing
//! delay and its trend.

mod config;
mod controller;

pub use config::PieConfig;

use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use controller::Controller;
use windlass_base::{Rng, Span, Time};

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
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
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

    /// The current probability with which PIE drops or marks an arrival.
    pub fn probability(&self) -> f64 {
        self.controller.probability()
    }

    fn chooses(&mut self, rng: &mut Rng) -> bool {
        // RFC 8033 §4.1, §4.4: no drop in a burst, at a low delay, or of the last two packets.
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
        // accu_prob in RFC 8033 §5.4: it begins again at 0 when p is 0.
        self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
        self.accumulated >= 0.85 && (self.accumulated >= 8.5 || rng.chance(p))
    }

    fn marks(&mut self, packet: &mut P) -> bool {
        // RFC 8033 §5.1: up to mark_ecnth PIE marks; above it drops ECT packets too.
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
        // RFC 8033 §4.3: the delay is that of the packet by its timestamp. An empty queue has none,
        // whatever the packet has waited.
        let empty = self.fifo.is_empty();
        let delay = if empty { Span::ZERO } else { now.saturating_since(left.arrived) };
        self.controller.set_delay(delay);
        self.stats.dequeue(&left);
        Some(left.packet)
    }

    fifo_accessors!();
}
