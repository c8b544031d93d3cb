//! RED as in Linux: the values that `tc red` derives from its parameters, and the kernel's algorithm,
//! in the kernel's integers.
//!
//! It differs from [`Red`](crate::Red), which follows the papers and ns-2: the average is of bytes
//! and its weight a power of two, found from the burst that is to pass; sizes do not change a
//! packet's chance; marks are uniform from 1 to 1/p apart; a single waiting packet is not exempt;
//! idle time lowers the average by a table of shifts; and above the upper threshold ECN-capable
//! packets are marked, the others dropped.

mod config;
mod idle;

pub use config::TcRedConfig;

use crate::fifo::Fifo;
use crate::{ConfigError, DropReason, Limit, Packet, Queue, Stats};
use idle::IdleTable;
use windlass_base::{Rng, Time};

/// The queue of `tc red`.
#[derive(Clone, Debug)]
pub struct TcRed<P> {
    limit: Limit,
    ecn: bool,
    fifo: Fifo<P>,
    /// Bytes, times two to the power of `weight_log`, as the thresholds are.
    average: u64,
    weight_log: u32,
    min: u64,
    max: u64,
    avpkt_bytes: f64,
    spacing: Spacing,
    idle: IdleTable,
    idle_since: Option<Time>,
    stats: Stats,
}

/// How far apart marks come.
#[derive(Clone, Debug)]
struct Spacing {
    /// Probability of a mark a byte above `min`, in units of 2^-32.
    slope: u32,
    /// Arrivals since the last mark; `None` until one is let pass between the thresholds.
    count: Option<u64>,
    /// A mark is due when bytes above `min`, times `count`, reach this.
    due: u64,
}

/// The decision about an arrival.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Decision {
    Accept,
    Congested(DropReason),
}

impl Spacing {
    fn draw(&mut self, rng: &mut Rng) {
        self.count = Some(0);
        // red_random() of Linux.
        self.due = u64::from((rng.bits() >> 32) as u32 / self.slope);
    }

    /// True if RED chooses an arrival that finds the average this far above `min`.
    fn chooses(&mut self, bytes_above_min: u64, rng: &mut Rng) -> bool {
        let Some(count) = &mut self.count else {
            self.draw(rng);
            return false;
        };
        *count += 1;
        // red_mark_probability() of Linux.
        let chosen = bytes_above_min * *count >= self.due;
        if chosen {
            self.draw(rng);
        }
        chosen
    }
}

impl<P: Packet> TcRed<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn new(config: TcRedConfig) -> Result<TcRed<P>, ConfigError> {
        config.validate()?;
        let weight_log = config.weight_log()?;
        Ok(TcRed {
            limit: Limit::Bytes(config.limit_bytes),
            ecn: config.ecn,
            fifo: Fifo::new(),
            average: 0,
            weight_log,
            min: u64::from(config.min_bytes) << weight_log,
            max: u64::from(config.max_bytes) << weight_log,
            avpkt_bytes: f64::from(config.avpkt_bytes),
            spacing: Spacing { slope: config.slope(), count: None, due: 0 },
            idle: IdleTable::new(weight_log, config.avpkt_bytes, config.bandwidth),
            idle_since: Some(Time::ZERO),
            stats: Stats::default(),
        })
    }

    /// Updates the average: from the table after idle time, otherwise from the bytes that wait.
    fn update(&mut self, now: Time) {
        // red_calc_qavg() of Linux: after idle time, or the moving average.
        self.average = match self.idle_since.take() {
            Some(since) => self.idle.decayed(self.average, now.saturating_since(since)),
            None => self.average - (self.average >> self.weight_log) + self.fifo.bytes(),
        };
    }

    fn decide(&mut self, rng: &mut Rng) -> Decision {
        if self.average < self.min {
            self.spacing.count = None;
            return Decision::Accept;
        }
        if self.average >= self.max {
            self.spacing.count = None;
            return Decision::Congested(DropReason::AboveMax);
        }
        // The average is scaled by 2^Wlog.
        let above = (self.average - self.min) >> self.weight_log;
        if self.spacing.chooses(above, rng) {
            Decision::Congested(DropReason::Early)
        } else {
            Decision::Accept
        }
    }
}

impl<P: Packet> Queue<P> for TcRed<P> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        self.update(now);
        if let Decision::Congested(reason) = self.decide(rng)
            && !(self.ecn && self.stats.try_mark(&mut packet))
        {
            return self.stats.lose(packet, reason, dropped);
        }
        if self.fifo.has_room(self.limit, packet.wire_bytes()) {
            self.fifo.push(packet);
        } else {
            self.stats.lose(packet, DropReason::Full, dropped);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _rng: &mut Rng,
        _dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        let Some(packet) = self.fifo.pop() else {
            self.idle_since.get_or_insert(now);
            return None;
        };
        self.stats.dequeue(&packet);
        Some(packet)
    }

    fn average_packets(&self) -> Option<f64> {
        let bytes = self.average as f64 / f64::from(1u32 << self.weight_log);
        Some(bytes / self.avpkt_bytes)
    }

    fifo_accessors!();
}
