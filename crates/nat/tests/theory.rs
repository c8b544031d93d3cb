//! The theory against the emulator: two hosts that punch holes as ICE does, for all pairs of
//! mapping and filtering, alone, in a row, and behind one NAT.

#[expect(dead_code, reason = "each test uses a part")]
mod common;

use common::{at, config, endpoint};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use windlass_nat::theory::{Access, Outcome, outcome, outcome_behind_one};
use windlass_nat::{Config, Dependence, Flow, Nat, PortAllocation, Protocol, Side};

const RENDEZVOUS: &str = "203.0.113.1:3478";

/// A host with one socket, and the NATs between it and the Internet, from the inside.
struct Host {
    socket: SocketAddr,
    nats: Vec<usize>,
    /// The endpoints of the other host that it knows.
    known: BTreeSet<SocketAddr>,
}

struct World {
    nats: Vec<Nat>,
    hosts: [Host; 2],
}

/// Where a packet arrives, a host or the rendezvous, and the source address that it shows there.
#[derive(Debug, PartialEq)]
enum Arrival {
    Host(usize, SocketAddr),
    Rendezvous(SocketAddr),
}

impl World {
    fn send(&mut self, host: usize, destination: SocketAddr) -> Option<Arrival> {
        let source = self.hosts[host].socket;
        let mut flow = Flow { protocol: Protocol::Udp, source, destination };
        let mut side = Side::Outside;
        for (n, nat) in self.hosts[host].nats.clone().into_iter().enumerate() {
            (side, flow) = self.nats[nat].translate(at(1), Side::Inside, flow).ok()?;
            if side == Side::Inside {
                let nats: Vec<usize> = self.hosts[host].nats[..n].to_vec();
                return self.enter(&nats, flow);
            }
        }
        assert_eq!(side, Side::Outside);
        if flow.destination == endpoint(RENDEZVOUS) {
            return Some(Arrival::Rendezvous(flow.source));
        }
        for owner in 0..2 {
            let nats = self.hosts[owner].nats.clone();
            let Some(outermost) = nats.last() else { continue };
            if self.nats[*outermost].owns(flow.destination.ip()) {
                return self.enter(&nats, flow);
            }
        }
        self.deliver(flow)
    }

    /// From outside through these NATs, the innermost first in the list.
    fn enter(&mut self, nats: &[usize], mut flow: Flow) -> Option<Arrival> {
        for nat in nats.iter().rev() {
            flow = self.nats[*nat].translate(at(1), Side::Outside, flow).ok()?.1;
        }
        self.deliver(flow)
    }

    fn deliver(&self, flow: Flow) -> Option<Arrival> {
        let host = (0..2).find(|host| self.hosts[*host].socket == flow.destination)?;
        Some(Arrival::Host(host, flow.source))
    }

    /// One check of ICE (RFC 8445 section 7): the request arrives, and the answer to its source
    /// comes back from the endpoint that the request went to.
    fn check(&mut self, from: usize, to: SocketAddr) -> bool {
        let Some(Arrival::Host(peer, seen)) = self.send(from, to) else { return false };
        assert_ne!(peer, from);
        // A peer-reflexive candidate.
        self.hosts[peer].known.insert(seen);
        self.send(peer, seen) == Some(Arrival::Host(from, to))
    }

    fn connects(&mut self) -> bool {
        for host in 0..2 {
            let Some(Arrival::Rendezvous(mapped)) = self.send(host, endpoint(RENDEZVOUS)) else {
                return false;
            };
            self.hosts[1 - host].known.insert(mapped);
        }
        // Longer than anything that one side can learn from the other.
        (0..8).any(|_| {
            let checks: Vec<(usize, SocketAddr)> = (0..2)
                .flat_map(|host| self.hosts[host].known.iter().map(move |known| (host, *known)))
                .collect();
            checks.into_iter().any(|(host, to)| self.check(host, to))
        })
    }
}

fn nat(external: &str, (mapping, filtering): (Dependence, Dependence)) -> Nat {
    let external: IpAddr = external.parse().expect("an address");
    let ports = PortAllocation::Random;
    let config = Config { external: vec![external], ports, ..config() };
    Nat::new(config.behaving(mapping, filtering), 7)
}

fn host(socket: &str, nats: &[usize]) -> Host {
    Host { socket: endpoint(socket), nats: nats.to_vec(), known: BTreeSet::new() }
}

fn behaviors() -> impl Iterator<Item = (Dependence, Dependence)> {
    Dependence::ALL
        .into_iter()
        .flat_map(|mapping| Dependence::ALL.map(|filtering| (mapping, filtering)))
}

fn access((mapping, filtering): (Dependence, Dependence)) -> Access {
    Access::Udp { mapping, filtering }
}

fn found(world: &mut World) -> Outcome {
    if world.connects() { Outcome::Direct } else { Outcome::Relayed }
}

#[test]
fn every_pair_of_nats_connects_as_the_theory_says() {
    for a in behaviors() {
        for b in behaviors() {
            let nats = vec![nat("192.0.2.1", a), nat("192.0.2.9", b)];
            let hosts = [host("10.0.0.2:5000", &[0]), host("10.1.0.2:5000", &[1])];
            let found = found(&mut World { nats, hosts });
            assert_eq!(found, outcome(access(a), access(b)), "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_public_host_counts_as_independent_in_both() {
    let open = (Dependence::Independent, Dependence::Independent);
    for b in behaviors() {
        let nats = vec![nat("192.0.2.9", b)];
        let hosts = [host("192.0.2.1:5000", &[]), host("10.1.0.2:5000", &[0])];
        let found = found(&mut World { nats, hosts });
        assert_eq!(found, outcome(access(open), access(b)), "{b:?}");
    }
}

/// RFC 6888 section 3 asks for such a mapping. Behind others a pair may connect that the rule calls
/// relayed: the home's filter does not know which of the carrier's bindings a packet came through.
#[test]
fn behind_a_carrier_with_independent_mapping_the_strictest_behaviour_counts() {
    for home in behaviors() {
        for carrier in behaviors().filter(|behavior| behavior.0 == Dependence::Independent) {
            for b in behaviors() {
                let nats =
                    vec![nat("100.64.0.2", home), nat("192.0.2.1", carrier), nat("192.0.2.9", b)];
                let hosts = [host("10.0.0.2:5000", &[0, 1]), host("10.1.0.2:5000", &[2])];
                let row = (home.0.max(carrier.0), home.1.max(carrier.1));
                let found = found(&mut World { nats, hosts });
                assert_eq!(found, outcome(access(row), access(b)), "{home:?} {carrier:?} {b:?}");
            }
        }
    }
}

#[test]
fn behind_one_nat_hairpinning_decides() {
    for behavior in behaviors() {
        for hairpin in [false, true] {
            let (mapping, filtering) = behavior;
            let settings = Config { hairpin, ..config() }.behaving(mapping, filtering);
            let nats = vec![Nat::new(settings, 3)];
            let hosts = [host("10.0.0.2:5000", &[0]), host("10.1.0.2:5000", &[0])];
            let found = found(&mut World { nats, hosts });
            assert_eq!(found, outcome_behind_one(access(behavior), hairpin), "{behavior:?}");
        }
    }
}

#[test]
fn without_udp_a_relay_is_left_and_without_anything_nothing() {
    let open = access((Dependence::Independent, Dependence::Independent));
    assert_eq!(outcome(Access::Tcp443, open), Outcome::Relayed);
    assert_eq!(outcome(Access::Tcp443, Access::Tcp443), Outcome::Relayed);
    assert_eq!(outcome(Access::Nothing, open), Outcome::Impossible);
}
