//! Draws the ECN proxies on the path, and ends that have use for them; [`proxy`](crate::proxy) runs
//! them.

use super::{Opening, PathSetup, pick, spread};
use windlass_base::{Rng, Span, Time};
use windlass_ecn_proxy_core::{Policy, SenderPolicy};
use windlass_tcp::Config;

/// An ECN proxy in front of an end.
#[derive(Clone, Debug)]
pub(crate) struct ProxySetup {
    /// The end that it serves.
    pub(crate) served: usize,
    pub(crate) policy: Policy,
}

/// In front of one end mostly; from A to B.
pub(super) fn draw(rng: &mut Rng) -> Vec<ProxySetup> {
    let served: &[usize] = match rng.below(8) {
        0..=2 => &[0],
        3..=5 => &[1],
        _ => &[0, 1],
    };
    served.iter().map(|&served| ProxySetup { served, policy: draw_policy(rng) }).collect()
}

fn draw_policy(rng: &mut Rng) -> Policy {
    use SenderPolicy::{Drop, NoEct, VirtualLoss};
    let sender = pick(rng, &[VirtualLoss, VirtualLoss, VirtualLoss, VirtualLoss, Drop, NoEct]);
    let (without_sack, keeps_asking) = (rng.chance(0.3), rng.chance(0.3));
    Policy { sender, without_sack, keeps_asking, ..Policy::default() }
}

/// A proxy has nothing to do for connections that it did not see begin.
pub(super) fn draw_opening(rng: &mut Rng, drawn: Opening) -> Opening {
    if drawn == Opening::Established && rng.chance(0.8) { Opening::Handshake } else { drawn }
}

/// Mostly ends that have use for a proxy: served ones without ECN, others with it, often with SACK.
pub(super) fn suit(
    rng: &mut Rng,
    proxies: &[ProxySetup],
    opening: Opening,
    configs: &mut [Config; 2],
) {
    if opening == Opening::Established {
        return;
    }
    for (index, config) in configs.iter_mut().enumerate() {
        let served = proxies.iter().any(|proxy| proxy.served == index);
        config.ecn.enabled = rng.chance(0.85) != served;
    }
    if rng.chance(0.5) {
        configs.iter_mut().for_each(|config| config.extensions.sack = true);
    }
}

/// The whole way: `far` between the proxies, or between the proxy and the end that is not served.
pub(super) fn legs(
    rng: &mut Rng,
    start: Time,
    proxies: &[ProxySetup],
    mut far: [PathSetup; 2],
) -> Vec<[PathSetup; 2]> {
    far.iter_mut().for_each(|path| mark(rng, path));
    let mut legs = vec![far];
    for proxy in proxies {
        let leg = near(rng, start);
        legs.insert(if proxy.served == 0 { 0 } else { legs.len() }, leg);
    }
    legs
}

/// Marks where there were losses, and where there was nothing.
fn mark(rng: &mut Rng, path: &mut PathSetup) {
    if rng.chance(0.5) {
        (path.mark, path.loss) = (path.mark.max(path.loss), 0.0);
    }
    if path.mark == 0.0 && rng.chance(0.7) {
        path.mark = 0.3 * rng.uniform() * rng.uniform();
    }
}

/// Between an end and its proxy: most often a wire, at times as bad as any.
fn near(rng: &mut Rng, start: Time) -> [PathSetup; 2] {
    let wild = rng.chance(0.3);
    let longest_us = if rng.chance(0.6) { 1000 } else { 100_000 };
    let mut path = || match wild {
        true => PathSetup::draw(rng, start, true),
        false => PathSetup::clean(Span::from_micros(spread(rng, 10, longest_us))),
    };
    [path(), path()]
}
