//! Draws one direction of a path; [`path`](crate::path) carries it out.

use super::spread;
use core::ops::Range;
use windlass_base::{BitRate, Rng, Span, Time};
use windlass_link_model::{Steps, WifiJitter};

/// One direction of the path.
#[derive(Clone, Debug)]
pub(crate) struct PathSetup {
    pub(crate) delay: Span,
    /// The largest additional delay. Each packet draws its own.
    pub(crate) jitter: Span,
    /// Jitter of Wi-Fi besides, behind which packets keep their order.
    pub(crate) wifi_jitter: Option<WifiJitter>,
    /// No packet overtakes another, whatever the jitter.
    pub(crate) in_order: bool,
    pub(crate) loss: f64,
    pub(crate) bursts: Option<Bursts>,
    pub(crate) duplicate: f64,
    /// How often a packet is held up, and how long at most.
    pub(crate) reorder: Option<(f64, Span)>,
    /// Bits are flipped in this part of the packets.
    pub(crate) corrupt: f64,
    /// CE on this part of the packets that can carry it.
    pub(crate) mark: f64,
    /// Every packet becomes Not-ECT.
    pub(crate) bleaches: bool,
    /// The AccECN option is removed.
    pub(crate) strips_accecn: bool,
    /// A link of that rate behind a queue of that many bytes.
    pub(crate) link: Option<(BitRate, u64)>,
    /// From these instants on, another delay.
    pub(crate) delay_changes: Vec<(Time, Span)>,
    /// Nothing gets through.
    pub(crate) blackouts: Vec<Range<Time>>,
}

/// Gilbert-Elliott: two states, by the packet.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bursts {
    pub(crate) enter: f64,
    pub(crate) leave: f64,
    pub(crate) loss: f64,
}

/// The longest one-way delay drawn.
const MAX_DELAY_US: u64 = 300_000;

impl PathSetup {
    pub(super) fn draw(rng: &mut Rng, start: Time, wild: bool) -> PathSetup {
        let mut path = PathSetup::clean(Span::from_micros(spread(rng, 10, MAX_DELAY_US)));
        if wild {
            path.draw_losses(rng);
            path.draw_delays(rng, start);
            path.draw_blackouts(rng, start);
        }
        path
    }

    pub(super) fn clean(delay: Span) -> PathSetup {
        PathSetup {
            delay,
            jitter: Span::ZERO,
            wifi_jitter: None,
            in_order: true,
            loss: 0.0,
            bursts: None,
            duplicate: 0.0,
            reorder: None,
            corrupt: 0.0,
            mark: 0.0,
            bleaches: false,
            strips_accecn: false,
            link: None,
            delay_changes: Vec::new(),
            blackouts: Vec::new(),
        }
    }

    /// Jitter of Wi-Fi, whose target changes once.
    pub(super) fn draw_wifi_jitter(&mut self, rng: &mut Rng, start: Time) {
        if !rng.chance(0.1) {
            return;
        }
        let mut target = || Span::from_micros(spread(rng, 100, 120_000));
        let targets = [target(), target()];
        let changes = start + Span::from_micros(spread(rng, 1000, 60_000_000));
        let steps = vec![(Span::ZERO, targets[0]), (changes - Time::ZERO, targets[1])];
        self.wifi_jitter = Steps::new(steps, None).ok().map(WifiJitter::new);
    }

    /// Marks for AccECN to count, also on a path that is clean otherwise; on others middleboxes, too.
    pub(super) fn draw_for_accurate(&mut self, rng: &mut Rng, wild: bool) {
        if self.mark == 0.0 && rng.chance(0.8) {
            self.mark = small_share(rng, 1.0);
        }
        self.bleaches = wild && rng.chance(0.1);
        self.strips_accecn = wild && rng.chance(0.15);
    }

    /// Every packet arrives once and in order.
    pub(crate) fn is_faithful(&self) -> bool {
        let clean = PathSetup { mark: 0.0, bleaches: false, strips_accecn: false, ..self.clone() };
        clean.is_clean()
    }

    fn draw_losses(&mut self, rng: &mut Rng) {
        if rng.chance(0.35) {
            self.loss = small_share(rng, 0.3);
        }
        if rng.chance(0.2) {
            self.bursts = Some(Bursts {
                enter: small_share(rng, 0.1),
                leave: 0.02 + 0.5 * rng.uniform(),
                loss: 0.3 + 0.7 * rng.uniform(),
            });
        }
        if rng.chance(0.25) {
            self.duplicate = small_share(rng, 0.3);
        }
        if rng.chance(0.15) {
            self.corrupt = small_share(rng, 0.2);
        }
        if rng.chance(0.5) {
            self.mark = small_share(rng, 0.5);
        }
        if rng.chance(0.25) {
            let rate = BitRate::from_bits_per_sec(spread(rng, 100_000, 100_000_000));
            // At most a second of queue.
            self.link = rate.map(|rate| (rate, rng.between(1600, 1600 + rate.bits_per_sec() / 8)));
        }
    }

    fn draw_delays(&mut self, rng: &mut Rng, start: Time) {
        if rng.chance(0.35) {
            self.jitter = Span::from_micros(spread(rng, 1, self.delay.as_nanos() / 1000 + 1000));
            self.in_order = rng.chance(0.5);
        }
        if rng.chance(0.3) {
            let longest = Span::from_micros(spread(rng, 10, MAX_DELAY_US));
            self.reorder = Some((small_share(rng, 0.3), longest));
        }
        if rng.chance(0.2) {
            for _ in 0..rng.between(1, 3) {
                let at = start + Span::from_micros(spread(rng, 1000, 60_000_000));
                self.delay_changes.push((at, Span::from_micros(spread(rng, 10, MAX_DELAY_US))));
            }
            self.delay_changes.sort_unstable();
        }
    }

    fn draw_blackouts(&mut self, rng: &mut Rng, start: Time) {
        if rng.chance(0.25) {
            for _ in 0..rng.between(1, 3) {
                let from = start + Span::from_micros(spread(rng, 1, 30_000_000));
                self.blackouts.push(from..from + Span::from_micros(spread(rng, 1000, 200_000_000)));
            }
        }
    }

    /// The delay without anything else from `now` on.
    pub(crate) fn delay_at(&self, now: Time) -> Span {
        let changed = self.delay_changes.iter().rev().find(|(at, _)| *at <= now);
        changed.map_or(self.delay, |(_, delay)| *delay)
    }

    /// No packet takes less.
    pub(crate) fn shortest_delay(&self) -> Span {
        let changed = self.delay_changes.iter().map(|(_, delay)| *delay);
        changed.fold(self.delay, Span::min)
    }

    /// No packet takes longer.
    pub(crate) fn longest_delay(&self) -> Span {
        let base = self.delay_changes.iter().map(|(_, delay)| *delay).max().unwrap_or_default();
        let held = self.reorder.map_or(Span::ZERO, |(_, longest)| longest);
        let queued = self.link.map_or(Span::ZERO, |_| Span::from_secs(2));
        let wifi = self.wifi_jitter.as_ref().map_or(Span::ZERO, |_| WifiJitter::MAX);
        base.max(self.delay) + self.jitter + wifi + held + queued
    }

    /// It delays by a constant and does nothing else.
    pub(crate) fn is_clean(&self) -> bool {
        self.loss == 0.0
            && self.bursts.is_none()
            && self.duplicate == 0.0
            && self.reorder.is_none()
            && self.corrupt == 0.0
            && self.mark == 0.0
            && !self.bleaches
            && !self.strips_accecn
            && self.link.is_none()
            && self.jitter.is_zero()
            && self.wifi_jitter.is_none()
            && self.delay_changes.is_empty()
            && self.blackouts.is_empty()
    }
}

/// Up to `most`, small ones likelier.
fn small_share(rng: &mut Rng, most: f64) -> f64 {
    let u = rng.uniform();
    most * u * u
}
