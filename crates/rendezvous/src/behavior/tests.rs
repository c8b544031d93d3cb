//! Discovery through every NAT of the emulator in virtual time, against a small server.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use stun_types::attribute::{AttributeType, MappedSocketAddr, RawAttribute, XorMappedAddress};
use stun_types::message::{Message, MessageWrite, MessageWriteExt, MessageWriteVec};
use windlass_base::Rng;
use windlass_nat::{Config, Flow, Nat, PortAllocation, Protocol, Side};

const RTT: Span = Span::from_millis(40);

fn endpoint(text: &str) -> SocketAddr {
    text.parse().expect("an endpoint")
}

/// The server's support of RFC 5780.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Server {
    /// Two addresses, as RFC 5780 asks for.
    Full,
    /// It has a second address, and ignores CHANGE-REQUEST.
    Stubborn,
    /// Two addresses, of which a firewall hides the second.
    HalfDead,
    /// One address.
    Plain,
    Silent,
}

const MAIN: &str = "203.0.113.10:3478";
const OTHER: &str = "203.0.113.11:3479";

impl Server {
    /// The answer to a request that arrives at `to`, with the endpoint that it comes from.
    fn answer(
        self,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let request = Message::from_bytes(bytes).expect("a STUN message");
        let mut answer = Message::builder_success(&request, MessageWriteVec::new());
        let mapped = XorMappedAddress::new(from, request.transaction_id());
        answer.add_attribute(&mapped).expect("once");
        let (main, other) = (endpoint(MAIN), endpoint(OTHER));
        let second = MappedSocketAddr::new(other);
        let second = second.to_raw(AttributeType::new(0x802c));
        if matches!(self, Server::Full | Server::HalfDead | Server::Stubborn) {
            answer.add_attribute(&second).expect("once");
        }
        let asked = request.raw_attribute(AttributeType::new(0x0003));
        let flags = asked.map_or(0, |raw: RawAttribute<'_>| raw.value[3]);
        let source = match (self, flags) {
            (Server::Silent, _) => return None,
            (Server::HalfDead, _) if to.ip() == other.ip() || flags != 0 => return None,
            (Server::Full, 6) => other,
            (Server::Full, 2) => SocketAddr::new(main.ip(), other.port()),
            _ => to,
        };
        let answer = answer.finish();
        assert!(answer.len() <= bytes.len(), "no amplification");
        Some((source, answer))
    }
}

/// A host with two sockets, a NAT (or none) and a server.
struct World {
    nat: Option<Nat>,
    server: Server,
    sockets: [SocketAddr; 2],
    loss: f64,
    rng: Rng,
    /// Datagrams that will arrive at a socket, by time and number.
    under_way: BTreeMap<(Time, usize), (Socket, SocketAddr, Vec<u8>)>,
    sent: usize,
}

impl World {
    fn new(nat: Option<Config>, server: Server, loss: f64, seed: u64) -> World {
        let host = if nat.is_some() { "10.0.0.2" } else { "198.51.100.2" };
        World {
            nat: nat.map(|config| Nat::new(config, seed)),
            server,
            sockets: ["5000", "5001"].map(|port| endpoint(&format!("{host}:{port}"))),
            loss,
            rng: Rng::new(seed),
            under_way: BTreeMap::new(),
            sent: 0,
        }
    }

    fn discover(&mut self) -> Findings {
        let mut now = Time::ZERO;
        let mut discovery =
            Discovery::new(now, endpoint(MAIN), self.sockets[0], Rng::fork(self.rng.bits(), 1));
        loop {
            while let Some(transmit) = discovery.poll_transmit() {
                self.carry(now, transmit);
            }
            if let Some(findings) = discovery.result() {
                assert_eq!(discovery.poll_timeout(), None);
                return findings.clone();
            }
            let timeout = discovery.poll_timeout().expect("not over");
            match self.under_way.first_key_value() {
                Some(((due, _), _)) if *due <= timeout => {
                    let ((due, _), (socket, source, bytes)) =
                        self.under_way.pop_first().expect("not empty");
                    now = due;
                    discovery.handle_datagram(now, socket, source, &bytes);
                }
                _ => {
                    now = timeout;
                    discovery.handle_timeout(now);
                }
            }
            assert!(now < Time::ZERO + Span::from_secs(60), "an end");
        }
    }

    fn carry(&mut self, now: Time, transmit: Transmit) {
        let Transmit { socket, destination, bytes } = transmit;
        let source = self.sockets[socket as usize];
        let flow = Flow { protocol: Protocol::Udp, source, destination };
        let Some((side, flow)) = self.translate(now, Side::Inside, flow) else { return };
        if side == Side::Inside {
            return self.deliver(now, flow, bytes);
        }
        let server = [MAIN, OTHER].map(endpoint);
        let own = server.iter().any(|at| at.ip() == flow.destination.ip());
        if !own || self.rng.chance(self.loss) {
            return;
        }
        let Some((from, answer)) = self.server.answer(flow.source, flow.destination, &bytes) else {
            return;
        };
        let back = Flow { protocol: Protocol::Udp, source: from, destination: flow.source };
        if let Some((_, flow)) = self.translate(now, Side::Outside, back) {
            self.deliver(now + RTT, flow, answer);
        }
    }

    fn translate(&mut self, now: Time, from: Side, flow: Flow) -> Option<(Side, Flow)> {
        let to = if from == Side::Inside { Side::Outside } else { Side::Inside };
        match &mut self.nat {
            Some(nat) => nat.translate(now, from, flow).ok(),
            None => Some((to, flow)),
        }
    }

    fn deliver(&mut self, due: Time, flow: Flow, bytes: Vec<u8>) {
        if self.rng.chance(self.loss) {
            return;
        }
        let socket =
            if flow.destination == self.sockets[0] { Socket::First } else { Socket::Second };
        assert_eq!(flow.destination, self.sockets[socket as usize]);
        self.sent += 1;
        self.under_way.insert((due, self.sent), (socket, flow.source, bytes));
    }
}

fn config(mapping: Dependence, filtering: Dependence, hairpin: bool) -> Config {
    let ports = PortAllocation::Random;
    let config = Config { hairpin, ports, ..Config::new(vec![endpoint("192.0.2.1:0").ip()]) };
    config.behaving(mapping, filtering)
}

#[test]
fn every_nat_is_found_as_it_is() {
    for mapping in Dependence::ALL {
        for filtering in Dependence::ALL {
            for hairpin in [false, true] {
                let settings = config(mapping, filtering, hairpin);
                let found = World::new(Some(settings), Server::Full, 0.0, 1).discover();
                let expected = (Some(mapping), Some(filtering));
                assert_eq!((found.mapping, found.filtering), expected);
                // The packets of a dependent mapping come from an endpoint that was not sent to.
                let expected = match mapping {
                    Dependence::Independent => Some(hairpin),
                    _ => (hairpin && filtering == Dependence::Independent).then_some(true),
                };
                assert_eq!(found.hairpin, expected, "{mapping:?} {filtering:?} {hairpin}");
                assert!(found.is_translated());
            }
        }
    }
}

#[test]
fn a_public_host_has_no_translation_and_no_filter() {
    let found = World::new(None, Server::Full, 0.0, 1).discover();
    assert_eq!(found.mapped, Some(found.local));
    assert_eq!(
        (found.mapping, found.filtering),
        (Some(Dependence::Independent), Some(Dependence::Independent))
    );
    assert_eq!((found.hairpin, found.keeps_port()), (None, Some(true)));
    let peers = found.peers().expect("known");
    assert!(peers[..4].iter().all(|peer| peer.outcome == Outcome::Direct), "{peers:?}");
    assert_eq!(peers[4].outcome, Outcome::Relayed);
}

#[test]
fn a_server_with_one_address_shows_the_mapped_address_only() {
    let settings = config(Dependence::Independent, Dependence::Independent, true);
    let found = World::new(Some(settings), Server::Plain, 0.0, 1).discover();
    assert!(found.is_translated());
    assert_eq!((found.mapping, found.filtering, found.hairpin), (None, None, Some(true)));
    assert_eq!(found.peers(), None);
}

#[test]
fn a_server_that_ignores_change_requests_does_not_make_the_filter_look_open() {
    let settings = config(Dependence::Address, Dependence::AddressAndPort, true);
    let found = World::new(Some(settings), Server::Stubborn, 0.0, 1).discover();
    assert_eq!((found.mapping, found.filtering), (Some(Dependence::Address), None));
}

#[test]
fn an_unknown_finding_has_its_reason() {
    let symmetric = config(Dependence::AddressAndPort, Dependence::AddressAndPort, false);
    let reasons = |server| {
        let found = World::new(Some(symmetric.clone()), server, 0.0, 1).discover();
        [found.mapping_unknown(), found.filtering_unknown(), found.hairpin_unknown()]
    };
    let may_be_filtered = Some(Unknown::MayBeFiltered);
    assert_eq!(reasons(Server::Full), [None, None, may_be_filtered]);
    assert_eq!(reasons(Server::Stubborn), [None, Some(Unknown::ChangeIgnored), may_be_filtered]);
    let none = Some(Unknown::NoSecondAddress);
    assert_eq!(reasons(Server::Plain), [none, none, may_be_filtered]);
    let half = Some(Unknown::NoAnswer(endpoint("203.0.113.11:3478")));
    assert_eq!(reasons(Server::HalfDead), [half, None, may_be_filtered]);
    assert_eq!(reasons(Server::Silent), [None; 3]);
}

#[test]
fn without_an_answer_udp_counts_as_blocked() {
    let settings = Config {
        block_udp: true,
        ..config(Dependence::Independent, Dependence::Independent, true)
    };
    for (nat, server) in [(Some(settings), Server::Full), (None, Server::Silent)] {
        let found = World::new(nat, server, 0.0, 1).discover();
        assert_eq!((found.mapped, found.mapping), (None, None));
        let peers = found.peers().expect("known");
        assert!(peers.iter().all(|peer| peer.outcome == Outcome::Relayed), "{peers:?}");
    }
}

#[test]
fn forged_and_foreign_datagrams_change_nothing() {
    let mut discovery =
        Discovery::new(Time::ZERO, endpoint(MAIN), endpoint("10.0.0.2:5000"), Rng::new(1));
    let request = discovery.poll_transmit().expect("the first request").bytes;
    let stranger = wire::request(1.into(), wire::Changed::Nothing);
    let (_, other_transaction) =
        Server::Full.answer(endpoint("192.0.2.1:1"), endpoint(MAIN), &stranger).expect("answers");
    let mut indication = request.clone();
    indication[1] = 0x11;
    for bytes in [&other_transaction, &indication, &request, &vec![0; 30], &vec![]] {
        discovery.handle_datagram(Time::ZERO, Socket::First, endpoint(MAIN), bytes);
        assert_eq!(discovery.phase, Phase::Contact);
    }
    let (_, answer) =
        Server::Full.answer(endpoint("192.0.2.1:1"), endpoint(MAIN), &request).expect("answers");
    discovery.handle_datagram(Time::ZERO, Socket::Second, endpoint(MAIN), &answer);
    assert_eq!(discovery.phase, Phase::Contact, "the other socket");
    discovery.handle_datagram(Time::ZERO, Socket::First, endpoint(MAIN), &answer);
    assert_eq!(discovery.phase, Phase::Filtering);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(windlass_testbed::cases(64)))]

    /// Loss may hide an answer, which makes a finding unknown or stricter, and never more open.
    #[test]
    fn loss_never_makes_a_nat_look_more_open(
        mapping in prop::sample::select(Dependence::ALL.to_vec()),
        filtering in prop::sample::select(Dependence::ALL.to_vec()),
        hairpin: bool,
        loss in 0.0..0.6f64,
        seed: u64,
    ) {
        let settings = config(mapping, filtering, hairpin);
        let found = World::new(Some(settings), Server::Full, loss, seed).discover();
        prop_assert!(found.mapping.is_none_or(|found| found == mapping));
        prop_assert!(found.filtering.is_none_or(|found| found >= filtering));
        prop_assert!(hairpin || found.hairpin != Some(true));
    }

    #[test]
    fn any_datagram_is_taken(bytes in prop::collection::vec(any::<u8>(), 0..200), second: bool) {
        let local = endpoint("10.0.0.2:5000");
        let mut discovery = Discovery::new(Time::ZERO, endpoint(MAIN), local, Rng::new(1));
        let socket = if second { Socket::Second } else { Socket::First };
        discovery.handle_datagram(Time::ZERO, socket, endpoint(MAIN), &bytes);
    }
}
