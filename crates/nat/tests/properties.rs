//! Properties over random settings and random traffic.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{at, config};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use windlass_base::Span;
use windlass_nat::{Config, Dependence, Flow, Nat, Pooling, PortAllocation, Protocol, Side};

const LIFETIME_SECS: u64 = 20;

#[derive(Clone, Debug)]
enum Step {
    /// An inner endpoint sends to a remote one.
    Out {
        inner: u8,
        remote: u8,
    },
    /// A remote endpoint sends to the external endpoint that was handed out last but so many.
    In {
        remote: u8,
        binding: prop::sample::Index,
    },
    /// Seconds go by.
    Wait(u64),
    Reboot,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let out = (0u8..8, 0u8..9).prop_map(|(inner, remote)| Step::Out { inner, remote });
    let back = (0u8..9, any::<prop::sample::Index>())
        .prop_map(|(remote, binding)| Step::In { remote, binding });
    let wait = (0u64..15).prop_map(Step::Wait);
    let step = prop_oneof![10 => out, 10 => back, 3 => wait, 1 => Just(Step::Reboot)];
    prop::collection::vec(step, 0..200)
}

fn settings() -> impl Strategy<Value = Config> {
    let dependence = || prop::sample::select(Dependence::ALL.to_vec());
    let ports = [PortAllocation::Preserve, PortAllocation::Random, PortAllocation::Sequential];
    let pooling = prop::sample::select(vec![Pooling::Paired, Pooling::Arbitrary]);
    let choices = (dependence(), dependence(), prop::sample::select(ports.to_vec()), pooling);
    (choices, 1..=3usize, any::<bool>()).prop_map(|(choices, pool, refresh_inbound)| {
        let (mapping, filtering, ports, pooling) = choices;
        let external = (1..=pool).map(|n| format!("192.0.2.{n}").parse().expect("an address"));
        Config {
            external: external.collect(),
            ports,
            pooling,
            port_range: 5000..=5020,
            lifetime: Span::from_secs(LIFETIME_SECS),
            refresh_inbound,
            ..config()
        }
        .behaving(mapping, filtering)
    })
}

/// Four hosts with two ports each.
fn inner(n: u8) -> SocketAddr {
    common::endpoint(&format!("10.0.0.{}:{}", 2 + n / 2, 5000 + u16::from(n % 2)))
}

/// Three addresses with three ports each.
fn remote(n: u8) -> SocketAddr {
    common::endpoint(&format!("198.51.100.{}:{}", 1 + n / 3, 1 + n % 3))
}

fn same(dependence: Dependence, a: SocketAddr, b: SocketAddr) -> bool {
    match dependence {
        Dependence::Independent => true,
        Dependence::Address => a.ip() == b.ip(),
        Dependence::AddressAndPort => a == b,
    }
}

/// Oracle for RFC 4787's definitions: it decides each packet from the whole history.
#[derive(Default)]
struct History {
    /// Outgoing packets since the last reboot: when, from, to, and the external source. Incoming ones
    /// that refresh stand here too.
    sent: Vec<(u64, SocketAddr, SocketAddr, SocketAddr)>,
    /// Every external endpoint that was ever seen.
    seen: Vec<SocketAddr>,
    now: u64,
}

impl History {
    fn alive(&self) -> impl Iterator<Item = &(u64, SocketAddr, SocketAddr, SocketAddr)> {
        self.sent.iter().filter(|(when, ..)| self.now < when + LIFETIME_SECS)
    }
}

proptest! {
    #[test]
    fn mapping_and_filtering_are_as_defined(settings in settings(), steps in steps()) {
        let (mapping, filtering) = (settings.mapping, settings.filtering);
        let mut nat = Nat::new(settings.clone(), 1);
        let mut history = History::default();
        for step in steps {
            match step {
                Step::Wait(seconds) => history.now += seconds,
                Step::Reboot => {
                    nat.reboot();
                    history.sent.clear();
                }
                Step::Out { inner: source, remote: destination } => {
                    let (source, destination) = (inner(source), remote(destination));
                    let flow = Flow { protocol: Protocol::Udp, source, destination };
                    let Ok((side, new)) = nat.translate(at(history.now), Side::Inside, flow) else {
                        continue;
                    };
                    prop_assert_eq!((side, new.destination), (Side::Outside, destination));
                    prop_assert!(nat.owns(new.source.ip()));
                    for (_, from, to, external) in history.alive() {
                        let shared = *from == source && same(mapping, *to, destination);
                        prop_assert_eq!(*external == new.source, shared);
                    }
                    history.sent.push((history.now, source, destination, new.source));
                    history.seen.push(new.source);
                }
                Step::In { remote: source, binding } => {
                    if history.seen.is_empty() {
                        continue;
                    }
                    let (source, destination) = (remote(source), *binding.get(&history.seen));
                    let flow = Flow { protocol: Protocol::Udp, source, destination };
                    let expected = history.alive().find(|(_, _, to, external)| {
                        *external == destination && same(filtering, *to, source)
                    });
                    let expected = expected.map(|(_, from, ..)| *from);
                    let found = nat.translate(at(history.now), Side::Outside, flow);
                    prop_assert_eq!(found.ok().map(|(_, new)| new.destination), expected);
                    if let (true, Some(inside)) = (settings.refresh_inbound, expected) {
                        refresh(&mut history, inside, source, destination, filtering);
                    }
                }
            }
        }
    }

    #[test]
    fn no_two_inner_endpoints_share_an_external_one(settings in settings(), steps in steps()) {
        let mut nat = Nat::new(settings, 1);
        let mut owners: BTreeMap<SocketAddr, BTreeSet<SocketAddr>> = BTreeMap::new();
        for step in steps {
            let Step::Out { inner: source, remote: destination } = step else { continue };
            let flow = Flow {
                protocol: Protocol::Udp,
                source: inner(source),
                destination: remote(destination),
            };
            if let Ok((_, new)) = nat.translate(at(0), Side::Inside, flow) {
                owners.entry(new.source).or_default().insert(flow.source);
            }
        }
        prop_assert!(owners.values().all(|inner| inner.len() == 1), "{owners:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_endpoints(settings in settings(), steps in steps(), seed: u64) {
        let run = || {
            let mut nat = Nat::new(settings.clone(), seed);
            let mut sources = Vec::new();
            for step in &steps {
                if let Step::Out { inner: source, remote: destination } = step {
                    let (source, destination) = (inner(*source), remote(*destination));
                    let flow = Flow { protocol: Protocol::Udp, source, destination };
                    sources.push(nat.translate(at(0), Side::Inside, flow));
                }
            }
            sources
        };
        prop_assert_eq!(run(), run());
    }
}

/// An incoming packet keeps the contact that let it in, and with it the binding.
fn refresh(
    history: &mut History,
    inside: SocketAddr,
    source: SocketAddr,
    external: SocketAddr,
    filtering: Dependence,
) {
    let admitted = history
        .alive()
        .find(|(_, _, to, ext)| *ext == external && same(filtering, *to, source))
        .map(|(_, _, to, _)| *to);
    let to = admitted.expect("it was let in");
    history.sent.push((history.now, inside, to, external));
}
