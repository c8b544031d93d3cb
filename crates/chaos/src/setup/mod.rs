//! Derives the setup of a connection from a seed: the path, the two ends and the plans of their
//! applications, all drawn before anything runs.
//!
//! Every feature is on or off by a coin of its own (swarm testing), so that many seeds are
//! hostile in one respect only and get far in it.

mod app;
mod config;
mod path;
mod proxy;

pub(crate) use app::{Abort, AppSetup, Close};
pub(crate) use config::unit;
pub(crate) use path::PathSetup;
pub(crate) use proxy::ProxySetup;

use std::sync::Arc;
use windlass_base::{Rng, Span, Time};
use windlass_tcp::cc::ControllerFactory;
use windlass_tcp::{Config, SeqNumber};

/// Everything that a seed draws.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) start: Time,
    /// From here on the paths only delay: what is left to do must get done.
    pub(crate) calm: Time,
    pub(crate) opening: Opening,
    pub(crate) ends: [EndSetup; 2],
    /// ECN proxies on the way, from A to B.
    pub(crate) proxies: Vec<ProxySetup>,
    /// From A to B, one more than there are proxies: the way to B and the way to A.
    pub(crate) legs: Vec<[PathSetup; 2]>,
}

/// Settings that the caller fixes and the seed does not draw.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Both ends have all of today's recovery and pacing, which ToU can turn on.
    pub modern: bool,
    /// An ECN proxy stands before an end, or one before each.
    pub ecn_proxy: bool,
    /// Both ends have this congestion controller. Growth and reductions are judged for Windlass's own
    /// only, since others follow rules of their own.
    pub controller: Option<Arc<dyn ControllerFactory>>,
}

/// How the connection comes to be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// End A connects, end B listens.
    Handshake,
    /// Both connect at once.
    Simultaneous,
    /// Neither: [`windlass_tcp::Connection::established`].
    Established,
}

/// One end.
#[derive(Clone, Debug)]
pub(crate) struct EndSetup {
    pub(crate) config: Config,
    pub(crate) isn: SeqNumber,
    pub(crate) app: AppSetup,
    /// The `max` of `poll_transmit`.
    pub(crate) run_max: u32,
    /// Arrivals wait this long and go up together, runs in order as one segment.
    pub(crate) coalesce: Option<Span>,
    /// How often the carrier calls `handle_timeout` though nothing is due.
    pub(crate) early_timeouts: f64,
}

impl Setup {
    pub(crate) fn draw(seed: u64, features: &Features) -> Setup {
        let mut rng = Rng::fork(seed, 1);
        let start = draw_start(&mut rng);
        let opening = match rng.below(10) {
            0..=6 => Opening::Handshake,
            7 => Opening::Simultaneous,
            _ => Opening::Established,
        };
        let mut proxy_rng = Rng::fork(seed, 4);
        let proxies = if features.ecn_proxy { proxy::draw(&mut proxy_rng) } else { vec![] };
        let opening = match proxies.is_empty() {
            true => opening,
            false => proxy::draw_opening(&mut proxy_rng, opening),
        };
        let (mut configs, hystart) = config::draw_pair(&mut rng, opening);
        config::draw_all_options(seed, &mut configs, hystart);
        let mut accurate = Rng::fork(seed, 6);
        config::draw_accurate(&mut accurate, opening, &mut configs);
        if features.modern {
            configs.iter_mut().for_each(config::modernise);
        }
        if let Some(controller) = &features.controller {
            configs.iter_mut().for_each(|config| config.congestion = Arc::clone(controller));
        }
        if !proxies.is_empty() {
            proxy::suit(&mut proxy_rng, &proxies, opening, &mut configs);
        }
        // Virtual losses take flights of more than two segments.
        let fat = rng.chance(0.05) || (!proxies.is_empty() && proxy_rng.chance(0.3));
        if fat {
            configs.iter_mut().for_each(|config| config::fatten(&mut rng, config));
        }
        let total_unit = [config::unit(&configs, 0), config::unit(&configs, 1)];
        let mut app = |sender: usize| AppSetup::draw(&mut rng, total_unit[sender]);
        let mut apps = [app(0), app(1)];
        apps[1].close_after_peer &= !apps[0].close_after_peer;
        if fat {
            apps.iter_mut().for_each(|app| app.fatten(&mut rng));
        }
        // A stream of its own: what a seed draws beside it does not change with it.
        let mut turns = Rng::fork(seed, 9);
        if !fat && turns.chance(0.15) {
            AppSetup::take_turns(&mut apps, &mut turns);
        }
        for reader in 0..2 {
            let incoming = apps[1 - reader].total;
            apps[reader].read_in_few_steps(incoming);
        }
        apps[0].early_start |= opening == Opening::Established;
        apps[1].early_start = opening != Opening::Handshake;
        let calm = draw_calm(&mut rng, start);
        let wild = rng.chance(0.85);
        let mut paths = [(); 2].map(|()| PathSetup::draw(&mut rng, start, wild));
        draw_for_accurate(&mut accurate, &configs, &mut paths, wild);
        draw_wifi_jitter(&mut Rng::fork(seed, 8), &mut paths, start, wild);
        let legs = match proxies.is_empty() {
            true => vec![paths],
            false => proxy::legs(&mut proxy_rng, start, &proxies, paths),
        };
        let [app_a, app_b] = apps;
        let config_b = configs[1].clone();
        let mut end = |config: &mut Config, app| EndSetup {
            config: config.clone(),
            isn: draw_isn(&mut rng),
            app,
            run_max: if rng.chance(0.5) { 1 } else { rng.between(2, 64) as u32 },
            coalesce: rng.chance(0.25).then(|| Span::from_micros(spread(&mut rng, 1, 1000))),
            early_timeouts: if rng.chance(0.1) { 0.1 } else { 0.0 },
        };
        let ends = [end(&mut configs[0], app_a), end(&mut config_b.clone(), app_b)];
        Setup { start, calm, opening, ends, proxies, legs }
    }

    /// Every direction of every leg.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathSetup> {
        self.legs.iter().flatten()
    }
}

/// Marks, and changes of ECN, where an end asks for AccECN.
fn draw_for_accurate(rng: &mut Rng, ends: &[Config; 2], paths: &mut [PathSetup; 2], wild: bool) {
    if ends.iter().any(config::is_accurate) {
        paths.iter_mut().for_each(|path| path.draw_for_accurate(rng, wild));
    }
}

/// Jitter of Wi-Fi. Its stream is its own, so that what a seed draws beside it does not change with it.
fn draw_wifi_jitter(rng: &mut Rng, paths: &mut [PathSetup; 2], start: Time, wild: bool) {
    if wild {
        paths.iter_mut().for_each(|path| path.draw_wifi_jitter(rng, start));
    }
}

fn draw_calm(rng: &mut Rng, start: Time) -> Time {
    start + Span::from_micros(spread(rng, 50_000, 600_000_000))
}

/// Near nothing, or where the millisecond clock of the timestamps wraps.
fn draw_start(rng: &mut Rng) -> Time {
    let wraps_ms = match rng.below(8) {
        0 => 1u64 << 32,
        1 => 1 << 31,
        _ => 0,
    };
    let before = rng.below(20_000).min(wraps_ms);
    Time::from_nanos((wraps_ms - before) * 1_000_000 + rng.below(1_000_000_000))
}

/// Mostly where a number wraps, or changes its sign, within the transfer.
fn draw_isn(rng: &mut Rng) -> SeqNumber {
    let before = spread(rng, 1, 200_000) as u32;
    SeqNumber(match rng.below(4) {
        0 => rng.bits() as u32,
        1 => (1u32 << 31).wrapping_sub(before),
        _ => 0u32.wrapping_sub(before),
    })
}

/// Between both, every order of magnitude as likely as the next.
pub(crate) fn spread(rng: &mut Rng, low: u64, high: u64) -> u64 {
    let power = 1 << rng.between(u64::from(low.max(1).ilog2()), u64::from(high.max(1).ilog2()));
    rng.between(power, 2 * power - 1).clamp(low, high)
}

pub(crate) fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}
