//! How to write a queue discipline in a separate crate.
//!
//! A discipline is two types:
//!
//! - a **factory** ([`Blue`] here): the settings as plain data, with documented defaults. It
//!   implements [`QueueFactory`] and makes a queue for each link direction that it is put on.
//! - a **queue** ([`BlueQueue`]): the packets that wait, and the state of the discipline. It
//!   implements [`Queue`] for any type of packet: it reads sizes, ECN fields and flow hashes.
//!
//! The contract between a link and a queue:
//!
//! - Time and randomness are arguments, and time never decreases from call to call. Read no clock,
//!   draw from the given `rng`, and take functions of floats from `libm`: a simulation must give the
//!   same bytes on every machine.
//! - There is no timer. A discipline catches up with periodic steps at the next call.
//! - `dequeue` is called once when the link falls idle, and then gives `None`.
//! - Every packet offered comes out exactly once: from `dequeue`, or through `dropped`.
//! - Count with [`Stats`]: `offer` before all else, `dequeue`, `try_mark`, `lose`. The link detects
//!   marks by these counters; do not set CE directly.

use windlass_aqm::{
    ConfigError, CustomQueue, DropReason, Fifo, Limit, Packet, Queue, QueueFactory, Stats,
};
use windlass_base::{BitRate, Rng, Span, Time};

/// BLUE (Feng, Shin, Kandlur and Saha, IEEE/ACM Transactions on Networking, 2002): one probability
/// of marking, which goes up when the queue overflows and down when the link falls idle.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Blue {
    /// The maximum length. Default: 100 packets.
    pub limit: Limit,
    /// Added to the probability at an overflow. Default: 0.02.
    pub increment: f64,
    /// Taken from the probability when the link falls idle. Default: 0.002.
    pub decrement: f64,
    /// The least time between two changes. Default: 100 ms.
    pub freeze_time: Span,
}

impl Default for Blue {
    fn default() -> Blue {
        Blue {
            limit: Limit::Packets(100),
            increment: 0.02,
            decrement: 0.002,
            freeze_time: Span::from_millis(100),
        }
    }
}

impl QueueFactory for Blue {
    fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        for (step, name) in [(self.increment, "increment"), (self.decrement, "decrement")] {
            if !(step > 0.0 && step <= 1.0) {
                return Err(ConfigError::Probability(name));
            }
        }
        Ok(())
    }

    fn build(&self, _link: Option<BitRate>) -> Result<CustomQueue, ConfigError> {
        self.validate()?;
        Ok(CustomQueue::new(BlueQueue::new(*self)))
    }
}

/// The queue of one link direction.
#[derive(Debug)]
pub struct BlueQueue<P> {
    blue: Blue,
    fifo: Fifo<P>,
    probability: f64,
    frozen_until: Time,
    stats: Stats,
}

impl<P: Packet> BlueQueue<P> {
    /// An empty queue that marks nothing yet.
    pub fn new(blue: Blue) -> BlueQueue<P> {
        let (fifo, stats) = (Fifo::new(), Stats::default());
        BlueQueue { blue, fifo, probability: 0.0, frozen_until: Time::ZERO, stats }
    }

    /// With what probability an arriving packet is marked, or dropped if it cannot be.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    fn adjust(&mut self, now: Time, step: f64) {
        if now >= self.frozen_until {
            self.probability = (self.probability + step).clamp(0.0, 1.0);
            self.frozen_until = now + self.blue.freeze_time;
        }
    }
}

impl<P: Packet> Queue<P> for BlueQueue<P> {
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: P,
        rng: &mut Rng,
        dropped: &mut impl FnMut(P, DropReason),
    ) {
        self.stats.offer(&packet);
        if !self.fifo.has_room(self.blue.limit, packet.wire_bytes()) {
            self.adjust(now, self.blue.increment);
            self.stats.lose(packet, DropReason::Full, dropped);
        } else if rng.chance(self.probability) && !self.stats.try_mark(&mut packet) {
            self.stats.lose(packet, DropReason::Early, dropped);
        } else {
            self.fifo.push(packet);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _rng: &mut Rng,
        _dropped: &mut impl FnMut(P, DropReason),
    ) -> Option<P> {
        let Some(packet) = self.fifo.pop() else {
            self.adjust(now, -self.blue.decrement);
            return None;
        };
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

/// The programs of docs/guide/queues.md, compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/queues.md")]
struct Docs;

#[cfg(test)]
mod tests;
