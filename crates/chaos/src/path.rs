//! One direction of the path at work: delays, losses and disturbances as
//! [`PathSetup`] has drawn them.

use crate::setup::PathSetup;
use windlass_base::{Ecn, Rng, Span, Time};

/// Carries packets, or not.
pub(crate) struct Path {
    setup: PathSetup,
    rng: Rng,
    calm: Time,
    /// Gilbert-Elliott's bad state.
    bad: bool,
    /// When the link will have sent what waits for it.
    link_free: Time,
    last_arrival: Time,
}

/// The path's decision on a packet.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Arrives {
        at: Time,
        ecn: Ecn,
        /// Its bits do not arrive as they were sent.
        corrupt: bool,
        /// A second copy.
        copy_at: Option<Time>,
    },
}

impl Path {
    pub(crate) fn new(setup: PathSetup, calm: Time, rng: Rng) -> Path {
        let start = Time::ZERO;
        Path { setup, rng, calm, bad: false, link_free: start, last_arrival: start }
    }

    /// Whether AccECN's option does not get through at `now`.
    pub(crate) fn strips_accecn(&self, now: Time) -> bool {
        self.setup.strips_accecn && now < self.calm
    }

    /// A packet of `len` bytes leaves now.
    pub(crate) fn carry(&mut self, now: Time, len: u32, ecn: Ecn) -> Fate {
        if now >= self.calm {
            let at = self.arrival(now + self.setup.delay_at(now), true);
            return Fate::Arrives { at, ecn, corrupt: false, copy_at: None };
        }
        if self.is_lost(now) {
            return Fate::Lost;
        }
        let Some(sent) = self.pass_link(now, len) else { return Fate::Lost };
        let at = self.delayed(sent);
        let duplicate = self.rng.chance(self.setup.duplicate);
        let copy_at = duplicate.then(|| self.delayed(sent));
        let marked = ecn.is_capable() && self.rng.chance(self.setup.mark);
        let ecn = match marked {
            _ if self.setup.bleaches => Ecn::NotEct,
            true => Ecn::Ce,
            false => ecn,
        };
        Fate::Arrives { at, ecn, corrupt: self.rng.chance(self.setup.corrupt), copy_at }
    }

    fn is_lost(&mut self, now: Time) -> bool {
        if self.setup.blackouts.iter().any(|dark| dark.contains(&now)) {
            return true;
        }
        self.lost_in_burst() || self.rng.chance(self.setup.loss)
    }

    fn lost_in_burst(&mut self) -> bool {
        let Some(bursts) = self.setup.bursts else { return false };
        // Gilbert-Elliott: the state may change, and then decides.
        let turn = if self.bad { bursts.leave } else { bursts.enter };
        self.bad ^= self.rng.chance(turn);
        self.bad && self.rng.chance(bursts.loss)
    }

    /// When the link has sent the packet; `None` if the queue is full.
    fn pass_link(&mut self, now: Time, len: u32) -> Option<Time> {
        let Some((rate, queue)) = self.setup.link else { return Some(now) };
        let begin = self.link_free.max(now);
        // The bytes that wait: the time until the link is free, times its rate.
        let waiting = (begin - now).as_nanos() / 8 * (rate.bits_per_sec() / 1000) / 1_000_000;
        if waiting + u64::from(len) > queue {
            return None;
        }
        self.link_free = begin + rate.transmission_time(len);
        Some(self.link_free)
    }

    fn delayed(&mut self, sent: Time) -> Time {
        let jitter = Span::from_nanos(self.rng.below(self.setup.jitter.as_nanos() + 1));
        let wifi = self.setup.wifi_jitter.as_ref().map(|wifi| wifi.draw(sent, &mut self.rng));
        let base = sent + self.setup.delay_at(sent) + jitter + wifi.unwrap_or_default();
        match self.setup.reorder {
            Some((share, longest)) if self.rng.chance(share) => {
                base + Span::from_nanos(self.rng.below(longest.as_nanos()))
            }
            _ => self.arrival(base, self.setup.in_order || wifi.is_some()),
        }
    }

    fn arrival(&mut self, at: Time, in_order: bool) -> Time {
        let at = if in_order { at.max(self.last_arrival) } else { at };
        self.last_arrival = self.last_arrival.max(at);
        at
    }

    /// Flips one to four of the bits; at least one.
    pub(crate) fn corrupt(&mut self, bytes: &mut [u8]) {
        for _ in 0..self.rng.between(1, 4) {
            let bit = self.rng.below(bytes.len() as u64 * 8);
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}
