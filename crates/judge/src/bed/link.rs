//! The bottleneck: a queue of bytes, a rate, a policer, losses.

use super::{PACKET, Path};
use crate::subject::Packet;
use std::collections::VecDeque;
use windlass_base::{Ecn, Rng, Span, Time};

/// IP and TCP headers with timestamps, in bytes.
const HEADERS: u64 = PACKET - super::PAYLOAD;

/// A packet on its way, with the delay that a program gave it.
pub(super) type Waiting = (Packet, Span);

#[derive(Debug)]
pub(super) struct Link {
    queue: VecDeque<Waiting>,
    queued: u64,
    room: u64,
    /// The packet that the link serializes ends then.
    pub(super) free_at: Option<Time>,
    /// Probability with which a packet is lost behind the queue.
    pub(super) loss: f64,
    /// Packets that come while more bytes than this wait are marked.
    pub(super) mark_above: Option<u64>,
    pub(super) policer: Option<Policer>,
    pub(super) dropped: u64,
    rng: Rng,
}

impl Link {
    pub(super) fn new(path: &Path) -> Link {
        Link {
            queue: VecDeque::new(),
            queued: 0,
            room: path.queue_bytes(),
            free_at: None,
            loss: 0.0,
            mark_above: None,
            policer: None,
            dropped: 0,
            rng: Rng::new(1),
        }
    }

    pub(super) fn set_room(&mut self, path: &Path) {
        self.room = path.queue_bytes();
    }

    /// Bytes that wait.
    pub(super) fn queued(&self) -> u64 {
        self.queued
    }

    pub(super) fn enter(&mut self, now: Time, (mut packet, late): Waiting, path: &Path) {
        let size = size(&packet);
        let policed =
            self.policer.as_mut().is_some_and(|policer| !policer.passes(now, size as f64));
        if policed || self.queued + size > self.room.max(2 * PACKET) {
            self.dropped += 1;
            return;
        }
        if self.mark_above.is_some_and(|bytes| self.queued > bytes) {
            mark(&mut packet);
        }
        self.queue.push_back((packet, late));
        self.queued += size;
        self.start(now, path);
    }

    fn start(&mut self, now: Time, path: &Path) {
        if let (None, Some((first, _))) = (self.free_at, self.queue.front()) {
            let bits = size(first) as f64 * 8.0;
            self.free_at = Some(now + Span::from_secs_f64(bits / path.mbit_per_s / 1e6));
        }
    }

    /// The packet that has been serialized, unless it is lost.
    pub(super) fn leave(&mut self, now: Time, path: &Path) -> Option<Waiting> {
        self.free_at = None;
        let left = self.queue.pop_front();
        if let Some((packet, _)) = &left {
            self.queued -= size(packet);
        }
        self.start(now, path);
        let lost = left.is_some() && self.rng.chance(self.loss);
        self.dropped += u64::from(lost);
        left.filter(|_| !lost)
    }
}

fn size(packet: &Packet) -> u64 {
    u64::from(packet.segment.payload_len) + HEADERS
}

/// Marks a packet of a sender that understands marks.
pub(super) fn mark(packet: &mut Packet) {
    if packet.ecn != Ecn::NotEct {
        packet.ecn = Ecn::Ce;
    }
}

/// A bucket that drops what exceeds its rate.
#[derive(Debug)]
pub(super) struct Policer {
    bytes_per_s: f64,
    burst: f64,
    tokens: f64,
    at: Time,
}

impl Policer {
    pub(super) fn new(now: Time, mbit_per_s: f64, burst: u64) -> Policer {
        let (bytes_per_s, burst) = (mbit_per_s * 1e6 / 8.0, burst as f64);
        Policer { bytes_per_s, burst, tokens: burst, at: now }
    }

    fn passes(&mut self, now: Time, bytes: f64) -> bool {
        let earned = now.saturating_since(self.at).as_secs_f64() * self.bytes_per_s;
        (self.tokens, self.at) = ((self.tokens + earned).min(self.burst), now);
        let passes = self.tokens >= bytes;
        if passes {
            self.tokens -= bytes;
        }
        passes
    }
}
