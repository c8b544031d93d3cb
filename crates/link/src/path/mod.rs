//! One direction of a link: queue, transmitter, wire.

use crate::config::{ConfigError, PathConfig};
use crate::frame::Frame;
use crate::loss::LossModel;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use windlass_aqm::{self as aqm, Discipline, Packet as _, Queue as _};
use windlass_base::{BitRate, Rng, Sketch, Span, Time};
use windlass_link_model::{
    Aggregator, Outages, Policer, Steps, Transmission, Transmitter, WifiJitter,
};

/// Counts of a path since it was built.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct PathStats {
    /// The counts of the queue.
    pub queue: aqm::Stats,
    /// Packets that wait in it now.
    pub queue_packets: usize,
    /// Bytes that wait in it now.
    pub queue_bytes: u64,
    /// Packets that the policer dropped before the queue, which does not count them.
    pub policed: u64,
    /// Packets that the wire lost: not among the queue's drops.
    pub lost: u64,
    /// Packets that the wire duplicated.
    pub duplicated: u64,
    /// Packets with a flipped bit.
    pub corrupted: u64,
    /// Packets that arrived, copies among them.
    pub delivered: u64,
    /// Bytes that arrived, IP headers included.
    pub delivered_bytes: u64,
}

/// One direction of a link, as a pure function of packets, times and seed.
///
/// [`Path::handle_frame`] takes a packet. [`Path::poll_timeout`] returns the time of the next event,
/// and [`Path::handle_timeout`] handles it. Handle all events that are due by the time of a packet
/// before the packet.
#[derive(Debug)]
pub(crate) struct Path {
    policer: Option<Policer>,
    rate: Option<BitRate>,
    /// Takes the place of the rate where the link changes over time.
    varying: Option<Transmitter>,
    queue: Discipline<Frame>,
    queue_rng: Rng,
    device_queue: Span,
    /// The time at which the device will have transmitted all packets that it has taken.
    sent_at: Time,
    /// The time at which the device polls the queue again; `None` if the queue was empty.
    asks_at: Option<Time>,
    wire: Wire,
    stats: PathStats,
    queue_delays: Sketch,
}

/// The delay, loss, duplication and corruption between transmission and arrival.
#[derive(Debug)]
struct Wire {
    outages: Outages,
    delay: Span,
    /// Takes the place of the delay where that changes over time.
    varying_delay: Option<Steps<Span>>,
    wifi_jitter: Option<WifiJitter>,
    jitter: Span,
    reorder: bool,
    loss: LossModel,
    duplicate: f64,
    corrupt: f64,
    rng: Rng,
    aggregator: Option<Aggregator>,
    /// The latest arrival that has been decided.
    last_arrival: Time,
    entered: u64,
    on_it: BinaryHeap<Arrival>,
}

/// A packet on the wire.
#[derive(Debug)]
struct Arrival {
    at: Time,
    /// Order of entry, which decides between two arrivals at the same time.
    entered: u64,
    frame: Frame,
}

impl Path {
    /// A path with an empty queue. `part` gives each path of a link its own random streams.
    ///
    /// # Errors
    ///
    /// The first invalid setting.
    pub(crate) fn new(config: &PathConfig, seed: u64, part: u64) -> Result<Path, ConfigError> {
        config.validate()?;
        let variation = &config.variation;
        let varies =
            variation.rate.is_some() || variation.shaper.is_some() || !variation.outages.is_empty();
        Ok(Path {
            policer: variation.policer.as_ref().map(Policer::new),
            rate: config.rate,
            varying: varies.then(|| Transmitter::new(config.rate, variation)),
            queue: config.queue.build(config.rate)?,
            // Two streams: losses on the wire do not change RED's random numbers.
            queue_rng: Rng::fork(seed, 2 * part),
            device_queue: config.device_queue,
            sent_at: Time::ZERO,
            asks_at: None,
            wire: Wire {
                outages: Outages::that_lose(&variation.outages),
                delay: config.delay,
                varying_delay: variation.delay.clone(),
                wifi_jitter: variation.wifi_jitter.clone(),
                aggregator: variation.aggregation.map(Aggregator::new),
                jitter: config.jitter,
                reorder: config.reorder,
                loss: LossModel::new(&config.loss),
                duplicate: config.duplicate,
                corrupt: config.corrupt,
                rng: Rng::fork(seed, 2 * part + 1),
                last_arrival: Time::ZERO,
                entered: 0,
                on_it: BinaryHeap::new(),
            },
            stats: PathStats::default(),
            queue_delays: Sketch::default(),
        })
    }

    /// Takes a packet into the queue.
    pub(crate) fn handle_frame(&mut self, now: Time, mut frame: Frame) {
        frame.queued_at = now;
        if self.policer.as_mut().is_some_and(|policer| !policer.admits(now, frame.wire_bytes())) {
            self.stats.policed += 1;
            return;
        }
        self.queue.enqueue(now, frame, &mut self.queue_rng, &mut |_, _| {});
        if self.asks_at.is_none() {
            self.send(now);
        }
    }

    /// The time of the next event for [`Path::handle_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let arrives = self.wire.on_it.peek().map(|arrival| arrival.at);
        [self.asks_at, arrives].into_iter().flatten().min()
    }

    /// Handles the first event that is due by `now`. Returns the packet if the event is an arrival:
    /// it arrived at the time that [`Path::poll_timeout`] had returned.
    pub(crate) fn handle_timeout(&mut self, now: Time) -> Option<Frame> {
        let due = self.poll_timeout().filter(|due| *due <= now)?;
        if self.wire.on_it.peek().is_some_and(|arrival| arrival.at == due) {
            let Arrival { frame, .. } = self.wire.on_it.pop()?;
            self.stats.delivered += 1;
            self.stats.delivered_bytes += u64::from(frame.wire_bytes());
            return Some(frame);
        }
        self.send(due);
        None
    }

    /// Moves packets from the queue to the device until the device is full or the queue is empty.
    fn send(&mut self, now: Time) {
        self.asks_at = None;
        while let Some(frame) = self.queue.dequeue(now, &mut self.queue_rng, &mut |_, _| {}) {
            let Transmission { begin, end } = self.transmit(now, frame.wire_bytes());
            self.queue_delays.record(begin.saturating_since(frame.queued_at));
            self.sent_at = end;
            self.wire.enter(self.sent_at, frame, &mut self.stats);
            let busy = self.sent_at - now;
            if busy > self.device_queue {
                self.asks_at = Some(now + busy.saturating_sub(self.device_queue));
                return;
            }
        }
    }

    /// The transmission of a packet that the device takes now.
    fn transmit(&mut self, now: Time, bytes: u32) -> Transmission {
        if let Some(varying) = &mut self.varying {
            return varying.transmit(now, bytes);
        }
        let took = self.rate.map(|rate| rate.transmission_time(bytes));
        let begin = self.sent_at.max(now);
        Transmission { begin, end: begin + took.unwrap_or_default() }
    }

    /// The counts so far.
    pub(crate) fn stats(&self) -> PathStats {
        PathStats {
            queue: *self.queue.stats(),
            queue_packets: self.queue.len_packets(),
            queue_bytes: self.queue.len_bytes(),
            ..self.stats
        }
    }

    /// How long each packet waited, from its arrival at the queue to the beginning of its transmission.
    pub(crate) fn queue_delays(&self) -> &Sketch {
        &self.queue_delays
    }

    /// RED's average of the queue, in packets; `None` for other disciplines.
    pub(crate) fn average_packets(&self) -> Option<f64> {
        self.queue.average_packets()
    }
}

impl Wire {
    fn enter(&mut self, now: Time, mut frame: Frame, stats: &mut PathStats) {
        // The loss model counts every packet that enters the wire.
        if self.loss.takes(&frame, &mut self.rng) || self.outages.is_under_way(now) {
            stats.lost += 1;
            return;
        }
        if self.rng.chance(self.corrupt) {
            frame.corrupt(&mut self.rng);
            stats.corrupted += 1;
        }
        if self.rng.chance(self.duplicate) {
            stats.duplicated += 1;
            self.carry(now, frame.clone());
        }
        self.carry(now, frame);
    }

    fn carry(&mut self, now: Time, frame: Frame) {
        let mut at = now + self.draw_delay(now);
        if let Some(jitter) = &self.wifi_jitter {
            at += jitter.draw(now, &mut self.rng);
        }
        if !self.reorder || self.wifi_jitter.is_some() {
            at = at.max(self.last_arrival);
        }
        if let Some(aggregator) = &mut self.aggregator {
            at = aggregator.release(at, frame.wire_bytes(), &mut self.rng);
        }
        self.last_arrival = self.last_arrival.max(at);
        self.entered += 1;
        self.on_it.push(Arrival { at, entered: self.entered, frame });
    }

    /// The delay of a packet that enters the wire now.
    fn draw_delay(&mut self, now: Time) -> Span {
        let delay = self.varying_delay.as_ref().map_or(self.delay, |steps| steps.at(now).0);
        if self.jitter.is_zero() {
            return delay;
        }
        let least = delay.saturating_sub(self.jitter).as_nanos();
        let most = delay.saturating_add(self.jitter).as_nanos();
        Span::from_nanos(self.rng.between(least, most))
    }
}

impl Ord for Arrival {
    /// Reversed: the heap's greatest element is the earliest arrival.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.entered).cmp(&(self.at, self.entered))
    }
}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Arrival {}

#[cfg(test)]
mod tests;
