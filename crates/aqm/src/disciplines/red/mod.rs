//! Random Early Detection: S. Floyd and V. Jacobson, "Random Early Detection Gateways for
//! Congestion Avoidance" (1993), with the details of ns-2's implementation that move results,
//! Adaptive RED: S. Floyd, R. Gummadi, S. Shenker (2001), and W. Feng, D. Kandlur, D. Saha, K. Shin,
//! "A Self-Configuring RED Gateway" (1999).

mod adaptation;
mod average;
mod config;
mod max_p;
mod probability;

pub use adaptation::{Adaptation, AdaptiveConfig, SelfConfiguringConfig};
pub use config::{AboveMax, RedConfig, Spacing, Unit};

use crate::fifo::Fifo;
use crate::{ConfigError, DropReason, EarlyAction, Packet, Queue, Stats};
use average::Average;
use max_p::MaxP;
use probability::{Curve, spaced};
use windlass_base::{BitRate, Rng, Time};

/// The RED queue.
///
/// As in ns-2, every arrival updates the average with the queue length that it finds; packets are
/// chosen only if the average is at least `min` and more than one packet waits. `count` grows with
/// every arrival, starts at 1 when the average crosses `min` upwards, and is 0 after an early drop or
/// a mark; forced drops do not change it. RED marks or drops the arriving packet.
///
/// Adaptive RED adjusts `max_p` at the first arrival at least one interval after the last step.
/// Intervals without an arrival make one step together, since the average does not move in them.
#[derive(Clone, Debug)]
pub struct Red<P> {
    config: RedConfig,
    curve: Curve,
    mean_packet_bytes: f64,
    fifo: Fifo<P>,
    average: Average,
    max_p: MaxP,
    /// Arrivals (in bytes mode: mean packets' worth) since the last mark or early drop.
    count: f64,
    /// False until the average has crossed `min` and one arrival has been let pass.
    above_min: bool,
    stats: Stats,
}

/// RED's decision about an arrival.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Decision {
    Accept,
    Early,
    Forced,
}

impl<P: Packet> Red<P> {
    /// Creates an empty queue for a link of the given rate.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work, or [`ConfigError::NeedsLinkRate`].
    pub fn new(config: RedConfig, link: Option<BitRate>) -> Result<Red<P>, ConfigError> {
        config.validate()?;
        let weight = config.resolved_weight(link)?;
        let packets_per_sec = link.map_or(0.0, |link| config.packets_per_sec(link));
        Ok(Red {
            config,
            curve: Curve { min: config.min, max: config.max_threshold(), gentle: config.gentle },
            mean_packet_bytes: f64::from(config.mean_packet_bytes),
            fifo: Fifo::new(),
            average: Average::new(weight, packets_per_sec),
            max_p: MaxP::new(config.max_p, config.adaptation),
            count: 0.0,
            above_min: false,
            stats: Stats::default(),
        })
    }

    /// The current probability at the upper threshold.
    pub fn max_p(&self) -> f64 {
        self.max_p.value()
    }

    fn len_in_unit(&self) -> f64 {
        match self.config.unit {
            // With a sign: a single instruction where it is asked for with every arrival.
            Unit::Packets => self.fifo.len().cast_signed() as f64,
            Unit::Bytes => self.fifo.bytes().cast_signed() as f64,
        }
    }

    /// The amount that one packet adds to `count`.
    fn share(&self, size: u32) -> f64 {
        match self.config.unit {
            Unit::Packets => 1.0,
            Unit::Bytes => f64::from(size) / self.mean_packet_bytes,
        }
    }

    #[inline(always)]
    fn decide(&mut self, size: u32, rng: &mut Rng) -> Decision {
        let share = self.share(size);
        let average = self.average.value();
        // Floyd and Jacobson 1993, section 4: `count` grows with each arrival.
        self.count += share;
        if average < self.curve.min || self.fifo.len() <= 1 {
            self.above_min = false;
            return Decision::Accept;
        }
        // At max_th and above every arrival is chosen (gentle: from twice max_th on).
        if average >= self.curve.certain() {
            return Decision::Forced;
        }
        // The first arrival above min_th begins the count, as in ns-2.
        if !self.above_min {
            self.above_min = true;
            self.count = share;
            return Decision::Accept;
        }
        let p = self.curve.probability(average, self.max_p.value());
        // In bytes mode a packet's chance grows with its size; `share` is 1 in packets mode.
        let p = spaced(p, self.count, self.config.spacing);
        if p >= 1.0 || rng.chance(p * share) {
            self.count = 0.0;
            return Decision::Early;
        }
        Decision::Accept
    }

    /// Marks the packet if settings and packet allow it; false if RED must drop it. Any mark restarts
    /// the count, above the upper threshold too.
    fn marks(&mut self, decision: Decision, packet: &mut P) -> bool {
        let may_mark = self.config.action == EarlyAction::Mark
            && (decision == Decision::Early || self.config.above_max == AboveMax::MarkEct);
        let marked = may_mark && self.stats.try_mark(packet);
        if marked {
            self.count = 0.0;
        }
        marked
    }
}

impl<P: Packet> Queue<P> for Red<P> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        let size = packet.wire_bytes();
        self.stats.offer(&packet);
        self.average.update(now, self.len_in_unit());
        self.max_p.adapt(now, self.average.value(), &self.curve);
        let decision = self.decide(size, rng);
        if !self.fifo.has_room(self.config.limit, size) {
            self.stats.lose(packet, DropReason::Full, dropped);
        } else if decision == Decision::Accept || self.marks(decision, &mut packet) {
            self.fifo.push(packet);
        } else if decision == Decision::Early {
            self.stats.lose(packet, DropReason::Early, dropped);
        } else {
            self.stats.lose(packet, DropReason::AboveMax, dropped);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _rng: &mut Rng,
        _dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        let Some(packet) = self.fifo.pop() else {
            self.average.fall_idle(now);
            return None;
        };
        self.stats.dequeue(&packet);
        Some(packet)
    }

    fn average_packets(&self) -> Option<f64> {
        let average = self.average.value();
        Some(match self.config.unit {
            Unit::Packets => average,
            Unit::Bytes => average / self.mean_packet_bytes,
        })
    }

    fifo_accessors!();
}
