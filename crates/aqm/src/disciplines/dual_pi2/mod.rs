//! DualPI2 (RFC 9332, as in Linux): a queue of low latency for scalable congestion controls (RFC 9331) beside one
//! for all others, coupled so that flows of both kinds get equal shares.

mod config;
mod controller;
mod turns;

pub use config::{Decides, DualPi2Config, LowLatency, Overload, Step};

use crate::fifo::Fifo;
use crate::stamped::Stamped;
use crate::{ConfigError, DropReason, Packet, Queue, Stats};
use controller::Controller;
use turns::{Lane, Turns};
use windlass_base::{Ecn, Rng, Time};

/// The DualPI2 queue. Order is kept among packets of low latency, and among the others.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    config: DualPi2Config,
    low: Fifo<Waiting<P>>,
    classic: Fifo<Waiting<P>>,
    controller: Controller,
    turns: Turns,
    stats: Stats,
}

/// A packet, and whether the step may mark it.
#[derive(Clone, Debug)]
struct Waiting<P> {
    stamped: Stamped<P>,
    takes_step: bool,
}

impl<P: Packet> Packet for Waiting<P> {
    fn wire_bytes(&self) -> u32 {
        self.stamped.wire_bytes()
    }

    fn ecn(&self) -> Ecn {
        self.stamped.ecn()
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.stamped.set_ecn(ecn);
    }

    fn flow_hash(&self) -> u64 {
        self.stamped.flow_hash()
    }
}

impl<P: Packet> DualPi2<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: DualPi2Config) -> Result<DualPi2<P>, ConfigError> {
        config.validate()?;
        Ok(DualPi2 {
            config,
            low: Fifo::new(),
            classic: Fifo::new(),
            controller: Controller::default(),
            turns: Turns::new(config.classic_share, config.mtu_bytes),
            stats: Stats::default(),
        })
    }

    /// The base probability p'.
    pub fn base_probability(&self) -> f64 {
        self.controller.base()
    }

    fn lane(&self, packet: &P) -> Lane {
        if self.config.low_latency.takes(packet.ecn()) { Lane::Low } else { Lane::Classic }
    }

    fn catch_up(&mut self, now: Time) {
        let head = |fifo: &Fifo<Waiting<P>>| fifo.front().map(|waiting| waiting.stamped.arrived);
        let heads = [head(&self.low), head(&self.classic)];
        self.controller.catch_up(now, heads, &self.config);
    }

    /// Marks a packet by probability. False if the packet is to be dropped.
    fn passes(&mut self, packet: &mut impl Packet, lane: Lane, rng: &mut Rng) -> bool {
        // As Linux: a link with fewer than two packets in its queues is not congested.
        if self.len_bytes() < 2 * u64::from(self.config.mtu_bytes) {
            return true;
        }
        let base = self.controller.base();
        let coupled = base * self.config.coupling;
        let is_overloaded = coupled > 1.0;
        // RFC 9332 §2.1: the square makes up for the square root in the window of a classic control.
        let classic = |rng: &mut Rng| rng.chance(base) && rng.chance(base);
        match lane {
            Lane::Low if is_overloaded => {
                let drops = self.config.overload == Overload::Drop && classic(rng);
                !drops && self.stats.try_mark(packet)
            }
            Lane::Low => !rng.chance(coupled) || self.stats.try_mark(packet),
            Lane::Classic => !classic(rng) || (!is_overloaded && self.stats.try_mark(packet)),
        }
    }

    /// The next packet in turn, with the change of the credit if it leaves.
    fn next_in_turn(&mut self) -> Option<(Waiting<P>, Lane, i64)> {
        let waits = (!self.low.is_empty(), !self.classic.is_empty());
        let Some(lane) = self.turns.next(waits) else {
            self.turns.reset();
            return None;
        };
        let waiting = match lane {
            Lane::Low => self.low.pop(),
            Lane::Classic => self.classic.pop(),
        }?;
        let change = self.turns.change(lane, waits, waiting.wire_bytes());
        Some((waiting, lane, change))
    }

    /// Whether the packet is beyond the step of the low-latency queue (RFC 9332 §2.4: the native AQM).
    fn is_beyond_step(&self, waiting: &Waiting<P>, now: Time) -> bool {
        let beyond = match self.config.step {
            Step::Time(most) => now.saturating_since(waiting.stamped.arrived) > most,
            Step::Packets(most) => self.low.len() > most as usize,
        };
        beyond && waiting.takes_step
    }
}

impl<P: Packet> Queue<P> for DualPi2<P> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        self.catch_up(now);
        let limit = self.config.limit;
        if !limit.has_room(self.len_packets(), self.len_bytes(), packet.wire_bytes()) {
            return self.stats.lose(packet, DropReason::Full, dropped);
        }
        // The codepoint on arrival decides: a mark must not send the packet past those before it.
        let lane = self.lane(&packet);
        if self.config.decides == Decides::Enqueue && !self.passes(&mut packet, lane, rng) {
            return self.stats.lose(packet, DropReason::Early, dropped);
        }
        let takes_step = self.low.len() >= self.config.step_from_packets as usize;
        let waiting = Waiting { stamped: Stamped { packet, arrived: now }, takes_step };
        match lane {
            Lane::Low => self.low.push(waiting),
            Lane::Classic => self.classic.push(waiting),
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        self.catch_up(now);
        loop {
            let (mut waiting, lane, change) = self.next_in_turn()?;
            if self.config.decides == Decides::Dequeue && !self.passes(&mut waiting, lane, rng) {
                self.stats.lose(waiting.stamped.packet, DropReason::Early, dropped);
                continue;
            }
            if lane == Lane::Low && self.is_beyond_step(&waiting, now) {
                self.stats.try_mark(&mut waiting);
            }
            self.turns.add(change);
            self.stats.dequeue(&waiting);
            return Some(waiting.stamped.packet);
        }
    }

    fn len_packets(&self) -> usize {
        self.low.len() + self.classic.len()
    }

    fn len_bytes(&self) -> u64 {
        self.low.bytes() + self.classic.bytes()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}
