use super::*;
use crate::client::{Client, Config as ClientConfig, Event, Failure, Transport};
use proptest::prelude::*;
use stun_types::message::{MessageType, MessageWrite, MessageWriteVec};
use turn_client_proto::api::{TurnConfig, TurnEvent, TurnPollRet, TurnRecvRet};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant;
use turn_client_proto::stun::agent::Transmit as TurnTransmit;
use turn_client_proto::types::{TransportType, TurnCredentials as Credentials};
use turn_client_proto::udp::TurnClientUdp;
use windlass_base::Rng;
use windlass_identity::{PublicKey, SecretKey};

fn secret(number: u8) -> SecretKey {
    SecretKey::from_seed([number; 32])
}

fn key(number: u8) -> PublicKey {
    secret(number).public_key()
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn udp(text: &str) -> Path {
    Path::Udp { socket: 0, address: address(text) }
}

fn server() -> Server {
    Server::new(Config::new([3; 16]), Rng::new(1))
}

/// Hosts and a server without a network between them.
struct World {
    server: Server,
    now: Time,
    hosts: Vec<(Path, Client)>,
    lost: Vec<Transmit>,
}

impl World {
    fn new() -> World {
        let now = Time::ZERO + Span::from_secs(1000);
        World { server: server(), now, hosts: Vec::new(), lost: Vec::new() }
    }

    fn add(&mut self, number: u8, instance: u8, path: Path) -> usize {
        let transport = match path {
            Path::Udp { .. } => Transport::Datagram,
            Path::Stream { .. } => Transport::Stream,
        };
        let config = ClientConfig {
            secret: secret(number),
            instance: [instance; 16],
            publish: true,
            transport,
        };
        let client = Client::new(config, Rng::new(number.into()), self.now);
        self.hosts.push((path, client));
        self.settle();
        self.hosts.len() - 1
    }

    /// Delivers messages until there are none.
    fn settle(&mut self) {
        loop {
            let mut idle = true;
            for (path, client) in &mut self.hosts {
                while let Some(bytes) = client.poll_transmit() {
                    idle = false;
                    self.server.handle(self.now, *path, &bytes);
                }
            }
            while let Some(transmit) = self.server.poll_transmit() {
                idle = false;
                let Transmit::Host { path, bytes } = &transmit else { panic!("no relay is used") };
                match self.hosts.iter_mut().find(|(of, _)| of == path) {
                    Some((_, client)) => drop(client.handle(self.now, bytes)),
                    None => self.lost.push(transmit),
                }
            }
            if idle {
                return;
            }
        }
    }

    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let next = self.hosts.iter().map(|(_, client)| client.poll_timeout()).min();
            let next = next.into_iter().chain([self.server.poll_timeout()]).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            for (_, client) in &mut self.hosts {
                if client.poll_timeout() <= self.now {
                    client.handle_timeout(self.now);
                }
            }
            self.server.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
    }

    fn events(&mut self, host: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.hosts[host].1.poll_event()).collect()
    }
}

#[test]
fn hosts_register_and_stay_registered() {
    let mut world = World::new();
    let host = world.add(1, 1, udp("192.0.2.1:1000"));
    let events = world.events(host);
    assert!(events.contains(&Event::Mapped(address("192.0.2.1:1000"))), "{events:?}");
    assert!(events.contains(&Event::Registered), "{events:?}");
    world.wait(Span::from_secs(600));
    assert_eq!(world.server.counters().registrations, 1);
    assert!(world.server.counters().kept > 20, "{:?}", world.server.counters());
    assert_eq!(world.server.counters().registered, 1, "keep-alives suffice");
    world.hosts.clear();
    world.wait(Span::from_secs(130));
    assert_eq!(world.server.counters().registrations, 0, "a silent host is forgotten");
}

#[test]
fn a_second_instance_of_a_key_is_refused_while_the_first_is_there() {
    let mut world = World::new();
    world.add(1, 1, udp("192.0.2.1:1000"));
    let second = world.add(1, 2, udp("192.0.2.2:1000"));
    let events = world.events(second);
    let refused = |event: &Event| matches!(event, Event::Refused { code: Refused::CONFLICT, .. });
    assert!(events.iter().any(refused), "{events:?}");
    assert!(!events.contains(&Event::Registered));
    // The same installation may move.
    let moved = world.add(1, 1, udp("192.0.2.3:1000"));
    assert!(world.events(moved).contains(&Event::Registered));
}

#[test]
fn an_offer_and_its_answer_cross_and_more_may_follow_both_ways() {
    for target_path in
        [udp("198.51.100.1:2000"), Path::Stream { id: 4, address: address("198.51.100.1:2000") }]
    {
        let mut world = World::new();
        let asking = world.add(1, 1, udp("192.0.2.1:1000"));
        let target = world.add(2, 2, target_path);
        world.events(target);
        world.events(asking);
        let id = world.hosts[asking].1.introduce(world.now, key(2), b"offer".to_vec());
        world.settle();
        let events = world.events(target);
        let [Event::Offer(offer)] = &events[..] else { panic!("{events:?}") };
        assert_eq!((offer.from, &offer.body[..]), (key(1), &b"offer"[..]));
        assert_eq!(offer.seen_address, Some(address("192.0.2.1:1000")));
        assert!(world.hosts[target].1.answer(id, b"answer".to_vec()));
        world.settle();
        let events = world.events(asking);
        let answered =
            |event: &Event| matches!(event, Event::Answer { body, .. } if body == b"answer");
        assert!(events.iter().any(answered), "{events:?}");
        for (from, to) in [(asking, target), (target, asking)] {
            assert!(world.hosts[from].1.send(world.now, id, b"more".to_vec()));
            world.settle();
            let events = world.events(to);
            let more = |event: &Event| matches!(event, Event::Body { body, .. } if body == b"more");
            assert!(events.iter().any(more), "{events:?}");
        }
    }
}

#[test]
fn a_key_that_is_not_registered_is_not_found() {
    let mut world = World::new();
    let asking = world.add(1, 1, udp("192.0.2.1:1000"));
    let id = world.hosts[asking].1.introduce(world.now, key(2), b"offer".to_vec());
    world.settle();
    let failed = Event::Failed { introduction: id, failure: Failure::Refused(Refused::NOT_FOUND) };
    assert!(world.events(asking).contains(&failed));
}

#[test]
fn hosts_register_again_after_the_server_was_restarted() {
    let mut world = World::new();
    let host = world.add(1, 1, udp("192.0.2.1:1000"));
    world.events(host);
    world.server = Server::new(Config::new([4; 16]), Rng::new(9));
    world.wait(Span::from_secs(30));
    assert_eq!(world.server.counters().registrations, 1);
}

#[test]
fn a_replayed_registration_from_another_address_registers_nothing() {
    let mut world = World::new();
    let host = udp("192.0.2.1:1000");
    let nonce = world.server.secret.nonce(world.now, host.address());
    let register = Register::signed(&secret(1), nonce, [1; 16], 60);
    let content = Content::Register(register);
    let bytes = Message { transaction: 5.into(), content }.encode();
    world.server.handle(world.now, udp("203.0.113.66:1000"), &bytes);
    assert_eq!(world.server.counters().registrations, 0);
    world.server.handle(world.now, host, &bytes);
    assert_eq!(world.server.counters().registrations, 1);
    // Four minutes later it is of no use at its own address either.
    world.server.handle_timeout(world.now + Span::from_secs(241));
    world.server.handle(world.now + Span::from_secs(241), host, &bytes);
    assert_eq!(world.server.counters().registrations, 0);
}

#[test]
fn a_forged_signature_registers_nothing() {
    let mut world = World::new();
    let host = udp("192.0.2.1:1000");
    let nonce = world.server.secret.nonce(world.now, host.address());
    let forged = Register { key: key(2), ..Register::signed(&secret(1), nonce, [1; 16], 60) };
    let bytes = Message { transaction: 5.into(), content: Content::Register(forged) }.encode();
    world.server.handle(world.now, host, &bytes);
    assert_eq!(world.server.counters().registrations, 0);
    assert_eq!(world.server.counters().refused, 1);
}

#[test]
fn a_network_that_registers_many_keys_reaches_its_share() {
    let mut config = Config::new([3; 16]);
    config.limits.registrations_per_network = 10;
    config.limits.requests_burst = 1000;
    let mut server = Server::new(config, Rng::new(1));
    let now = Time::ZERO + Span::from_secs(1000);
    for number in 0..40_u8 {
        let path = udp(&format!("192.0.2.1:{}", 1000 + u16::from(number)));
        let nonce = server.secret.nonce(now, path.address());
        let register = Register::signed(&secret(number), nonce, [1; 16], 60);
        let content = Content::Register(register);
        server.handle(now, path, &Message { transaction: 5.into(), content }.encode());
    }
    assert_eq!(server.counters().registrations, 10);
    assert_eq!(server.counters().refused, 30);
}

#[test]
fn too_many_signed_requests_are_refused_before_their_signature_is_verified() {
    let mut server = server();
    let now = Time::ZERO + Span::from_secs(1000);
    let host = udp("192.0.2.1:1000");
    let nonce = server.secret.nonce(now, host.address());
    let content = Content::Register(Register::signed(&secret(1), nonce, [1; 16], 60));
    let bytes = Message { transaction: 5.into(), content }.encode();
    for _ in 0..600 {
        server.handle(now, host, &bytes);
    }
    let codes = std::iter::from_fn(|| server.poll_transmit()).filter_map(|transmit| {
        let Transmit::Host { bytes, .. } = transmit else { return None };
        match Message::parse(&bytes).ok()?.content {
            Content::Refused(refused) => Some(refused.code),
            _ => None,
        }
    });
    assert_eq!(codes.filter(|code| *code == Refused::TOO_MANY).count(), 100);
}

fn binding(attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let kind = MessageType::from_class_method(stun_types::message::MessageClass::Request, BINDING);
    let mut message = Stun::builder(kind, 7.into(), MessageWriteVec::new());
    for (kind, value) in attributes {
        stun::add(&mut message, stun_types::attribute::AttributeType::new(*kind), value);
    }
    message.finish()
}

#[test]
fn a_binding_request_is_answered_with_the_address() {
    let mut server = server();
    server.handle(Time::ZERO, udp("192.0.2.1:1000"), &binding(&[(0xc0ff, &[0; 32])]));
    let Some(Transmit::Host { path, bytes }) = server.poll_transmit() else { panic!("an answer") };
    assert_eq!(path, udp("192.0.2.1:1000"));
    let answer = Stun::from_bytes(&bytes).expect("STUN");
    let mapped = answer.raw_attribute(stun::XOR_MAPPED_ADDRESS).expect("mapped");
    assert_eq!(stun::address(&answer, &mapped), Some(address("192.0.2.1:1000")));
}

#[test]
fn the_shortest_binding_request_is_answered_when_it_is_repeated() {
    let mut server = server();
    for answers in [0, 1] {
        server.handle(Time::ZERO, udp("192.0.2.1:1000"), &binding(&[]));
        assert_eq!(std::iter::from_fn(|| server.poll_transmit()).count(), answers);
    }
}

#[test]
fn an_unknown_attribute_that_must_be_understood_is_refused() {
    let mut server = server();
    let request = binding(&[(0x7777, &[0; 4]), (0xc0ff, &[0; 32])]);
    server.handle(Time::ZERO, udp("192.0.2.1:1000"), &request);
    let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("an answer") };
    let answer = Stun::from_bytes(&bytes).expect("STUN");
    assert_eq!(stun::value(&answer, stun::ERROR_CODE).as_deref(), Some(&[0, 0, 4, 20][..]));
    let unknown = stun::value(&answer, stun::UNKNOWN_ATTRIBUTES);
    assert_eq!(unknown.as_deref(), Some(&[0x77, 0x77][..]));
}

/// A host of a relay, and its client.
struct Relayed {
    server: Server,
    client: TurnClientUdp,
    path: Path,
    now: Time,
    socket: Option<AllocationId>,
    allocated: Option<SocketAddr>,
}

const RELAYED: &str = "203.0.113.1:50000";

fn instant(now: Time) -> Instant {
    Instant::from_nanos(now.as_nanos() as i64)
}

impl Relayed {
    fn new(user: &TurnCredentials) -> Relayed {
        let now = Time::ZERO + Span::from_secs(1000);
        let path = udp("192.0.2.1:1000");
        let mut server = server();
        // Registered hosts are verified.
        server.credits.verified(&server.secret, path.address());
        let config = TurnConfig::new(Credentials::new(&user.username, &user.password));
        let client = TurnClientUdp::allocate(path.address(), address("203.0.113.1:3478"), config);
        let mut relayed = Relayed { server, client, path, now, socket: None, allocated: None };
        // The client paces its requests.
        relayed.wait(Span::from_secs(1));
        relayed
    }

    fn settle(&mut self) {
        loop {
            let _ = self.client.poll(instant(self.now));
            let mut idle = true;
            while let Some(event) = self.client.poll_event() {
                if let TurnEvent::AllocationCreated(_, address) = event {
                    self.allocated = Some(address);
                }
            }
            while let Some(transmit) = self.client.poll_transmit(instant(self.now)) {
                idle = false;
                self.server.handle(self.now, self.path, &transmit.data);
            }
            while let Some(request) = self.server.poll_relay() {
                match request {
                    RelayRequest::Open { allocation, is_ipv6 } => {
                        assert!(!is_ipv6);
                        self.socket = Some(allocation);
                        self.server.relay_opened(self.now, allocation, Some(address(RELAYED)));
                    }
                    RelayRequest::Close { .. } => self.socket = None,
                }
            }
            while let Some(transmit) = self.server.poll_transmit() {
                idle = false;
                let Transmit::Host { bytes, .. } = transmit else { panic!("for the host") };
                self.receive(&bytes);
            }
            if idle {
                return;
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        let server = address("203.0.113.1:3478");
        let transmit =
            TurnTransmit::new(bytes.to_vec(), TransportType::Udp, server, self.path.address());
        match self.client.recv(transmit, instant(self.now)) {
            TurnRecvRet::PeerData(data) => Some((data.peer, data.data().to_vec())),
            _ => None,
        }
    }

    /// The datagram that reaches a peer when the host sends `data` to it.
    fn send(&mut self, peer: SocketAddr, data: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        let built = self.client.send_to(TransportType::Udp, peer, data.to_vec(), instant(self.now));
        let built = built.ok().flatten()?.build();
        self.server.handle(self.now, self.path, &built.data);
        match self.server.poll_transmit()? {
            Transmit::Peer { to, bytes, .. } => Some((to, bytes)),
            Transmit::Host { .. } => panic!("for the peer"),
        }
    }

    /// What the host gets when a peer sends `data` to its relayed address.
    fn receive_from(&mut self, peer: SocketAddr, data: &[u8]) -> Option<(SocketAddr, Vec<u8>)> {
        self.server.handle_relayed(self.now, self.socket?, peer, data);
        match self.server.poll_transmit()? {
            Transmit::Host { bytes, .. } => self.receive(&bytes),
            Transmit::Peer { .. } => panic!("for the host"),
        }
    }

    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        while let TurnPollRet::WaitUntil(at) = self.client.poll(instant(self.now)) {
            let at = Time::from_nanos(at.as_nanos() as u64).max(self.now + Span::from_nanos(1));
            if at > end {
                break;
            }
            self.now = at;
            self.server.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
        self.server.handle_timeout(end);
        self.settle();
    }
}

fn user(server: &Server) -> TurnCredentials {
    relay::credentials(&server.secret, &key(1))
}

#[test]
fn a_relay_carries_datagrams_both_ways_and_only_of_permitted_peers() {
    let mut relayed = Relayed::new(&user(&server()));
    assert_eq!(relayed.allocated, Some(address(RELAYED)));
    let (peer, stranger) = (address("198.51.100.1:9"), address("198.51.100.2:9"));
    assert_eq!(relayed.receive_from(peer, b"too early"), None);
    let permitted =
        relayed.client.create_permission(TransportType::Udp, peer.ip(), instant(relayed.now));
    permitted.expect("an allocation");
    relayed.settle();
    assert_eq!(relayed.send(peer, b"out"), Some((peer, b"out".to_vec())));
    assert_eq!(relayed.receive_from(peer, b"in"), Some((peer, b"in".to_vec())));
    assert_eq!(relayed.receive_from(stranger, b"in"), None);
    let bound = relayed.client.bind_channel(TransportType::Udp, peer, instant(relayed.now));
    bound.expect("an allocation");
    relayed.settle();
    assert_eq!(relayed.send(peer, b"channel"), Some((peer, b"channel".to_vec())));
    assert_eq!(relayed.receive_from(peer, b"channel"), Some((peer, b"channel".to_vec())));
}

#[test]
fn an_allocation_lives_while_it_is_refreshed() {
    let mut relayed = Relayed::new(&user(&server()));
    relayed.wait(Span::from_secs(3 * 3600));
    assert!(relayed.socket.is_some(), "the client refreshes, with new nonces");
    relayed.now += Span::from_secs(3601);
    relayed.server.handle_timeout(relayed.now);
    assert!(matches!(relayed.server.poll_relay(), Some(RelayRequest::Close { .. })));
}

/// A request for a relayed address with an even port. With `both`, also for the next one.
fn allocate_even(server: &Server, now: Time, path: Path, both: bool) -> Vec<u8> {
    use stun_types::message::{IntegrityAlgorithm, LongTermKeyCredentials, MessageWriteExt};
    let class = stun_types::message::MessageClass::Request;
    let kind = MessageType::from_class_method(class, stun_types::message::Method::new(3));
    let mut message = Stun::builder(kind, 7.into(), MessageWriteVec::new());
    let (user, nonce) = (user(server), server.secret.nonce(now, path.address()));
    stun::add(&mut message, stun::REQUESTED_TRANSPORT, &[17, 0, 0, 0]);
    stun::add(&mut message, stun::EVEN_PORT, &[u8::from(both) << 7]);
    stun::add(&mut message, stun::USERNAME, user.username.as_bytes());
    stun::add(&mut message, stun::REALM, b"windlass");
    stun::add(&mut message, stun::NONCE, nonce.as_str().as_bytes());
    let known = LongTermKeyCredentials::new(user.username, user.password, "windlass".into());
    let added = message.add_message_integrity(&known.into(), IntegrityAlgorithm::Sha1);
    added.expect("the first integrity");
    message.finish()
}

#[test]
fn a_client_that_asks_for_an_even_port_gets_no_other() {
    let now = Time::ZERO + Span::from_secs(1000);
    let path = udp("192.0.2.1:1000");
    for (both, port, granted) in [(false, 50_000, true), (false, 50_001, false), (true, 0, false)] {
        let mut server = server();
        let request = allocate_even(&server, now, path, both);
        server.handle(now, path, &request);
        if let Some(RelayRequest::Open { allocation, .. }) = server.poll_relay() {
            server.relay_opened(now, allocation, Some(([203, 0, 113, 1], port).into()));
        }
        let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("none") };
        let answer = Stun::from_bytes(&bytes).expect("STUN");
        assert_eq!(answer.has_attribute(stun::XOR_RELAYED_ADDRESS), granted, "{port}");
        let code = stun::value(&answer, stun::ERROR_CODE);
        assert_eq!(code, (!granted).then(|| vec![0, 0, 5, 8]), "{port}");
        // A socket that does not suit is closed again.
        let closed = matches!(server.poll_relay(), Some(RelayRequest::Close { .. }));
        assert_eq!(closed, port == 50_001);
        assert_eq!(server.counters().allocations, u64::from(granted));
    }
}

/// Asks for one more allocation of a user whose limit is reached. Returns the code of the error, and
/// the allocation that was ended for it.
fn one_more(server: &mut Server, now: Time, path: Path) -> (Option<Vec<u8>>, Option<AllocationId>) {
    let request = allocate_even(server, now, path, false);
    server.handle(now, path, &request);
    let mut closed = None;
    while let Some(request) = server.poll_relay() {
        match request {
            RelayRequest::Open { allocation, .. } => {
                server.relay_opened(now, allocation, Some(address(RELAYED)));
            }
            RelayRequest::Close { allocation } => closed = Some(allocation),
        }
    }
    let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("none") };
    let answer = Stun::from_bytes(&bytes).expect("STUN");
    (stun::value(&answer, stun::ERROR_CODE).map(|code| code[2..].to_vec()), closed)
}

#[test]
fn a_host_at_its_limit_loses_the_allocation_that_is_silent() {
    let (mut server, start) = (server(), Time::ZERO + Span::from_secs(1000));
    let limit = Limits::default().allocations_per_key as u16;
    let path = |port: u16| udp(&format!("192.0.2.1:{}", 1000 + port));
    for port in 0..limit {
        assert_eq!(one_more(&mut server, start, path(port)), (None, None));
    }
    let quota_reached = Some(vec![4, 86]);
    assert_eq!(one_more(&mut server, start, path(limit)), (quota_reached.clone(), None));
    // The host sends through the first one: an empty message of a channel. Its NAT has forgotten
    // the others.
    let later = start + Span::from_secs(10);
    server.handle(later, path(0), &[0x40, 0, 0, 0]);
    assert_eq!(one_more(&mut server, later, path(limit)), (quota_reached, None));
    let end = start + Span::from_secs(20);
    let (error, closed) = one_more(&mut server, end, path(limit));
    assert_eq!((error, closed), (None, Some(AllocationId(1))));
    assert_eq!(server.counters().allocations, u64::from(limit));
}

#[test]
fn a_wrong_password_gets_no_relay() {
    let mut wrong = user(&server());
    wrong.password.push('x');
    let relayed = Relayed::new(&wrong);
    assert_eq!(relayed.allocated, None);
    assert!(relayed.socket.is_none());
}

#[test]
fn a_relay_does_not_lead_into_its_own_network() {
    let peers = [
        ("127.0.0.1", false, false),
        ("0.0.0.0", false, false),
        ("169.254.1.1", false, false),
        ("224.0.0.1", false, false),
        ("::1", false, false),
        ("::ffff:127.0.0.1", false, false),
        ("fe80::1", false, false),
        ("10.0.0.1", false, true),
        ("100.64.0.1", false, true),
        ("fd00::1", false, true),
        ("198.51.100.1", true, true),
        ("2001:db8::1", true, true),
    ];
    for (peer, public, private) in peers {
        let ip: std::net::IpAddr = peer.parse().expect("an address");
        assert_eq!(PeerPolicy::Public.admits(ip), public, "{peer}");
        assert_eq!(PeerPolicy::PublicAndPrivate.admits(ip), private, "{peer}");
    }
}

proptest! {
    /// Whatever arrives from addresses that prove nothing: each gets at most what it sent.
    #[test]
    fn an_unverified_address_never_gets_more_than_it_sent(
        messages in prop::collection::vec((0..3_u8, any::<u8>(), prop::collection::vec(any::<u8>(), 0..120)), 1..60),
    ) {
        let mut server = server();
        let mut balance = [0_i64; 3];
        for (from, kind, junk) in messages {
            let path = udp(&format!("192.0.2.{from}:1000"));
            let bytes = request_without_proof(kind, &junk);
            balance[usize::from(from)] += bytes.len() as i64;
            server.handle(Time::ZERO, path, &bytes);
            while let Some(transmit) = server.poll_transmit() {
                let Transmit::Host { path, bytes } = transmit else { panic!("no relay is open") };
                prop_assert_eq!(path.address().ip().to_string(), format!("192.0.2.{from}"));
                balance[usize::from(from)] -= bytes.len() as i64;
            }
            prop_assert!(balance[usize::from(from)] >= 0);
        }
    }
}

/// A request of every kind that the server answers, without a valid nonce.
fn request_without_proof(kind: u8, junk: &[u8]) -> Vec<u8> {
    let content = |content| Message { transaction: 3.into(), content }.encode();
    let method = |number, junk: &[u8]| {
        let class = stun_types::message::MessageClass::Request;
        let kind = MessageType::from_class_method(class, stun_types::message::Method::new(number));
        let mut message = Stun::builder(kind, 7.into(), MessageWriteVec::new());
        stun::add(&mut message, stun_types::attribute::AttributeType::new(0xc0ff), junk);
        message.finish()
    };
    let nonce = || "wrong".parse().expect("a nonce");
    match kind % 9 {
        0 => content(Content::Hello(REGISTER)),
        1 => content(Content::Hello(INTRODUCE)),
        2 => content(Content::Register(Register::signed(&secret(1), nonce(), [1; 16], 60))),
        3 => content(Content::KeepAlive(KeepAlive { token: [1; 16], lifetime_s: 60 })),
        4 => method(0x001, junk),
        5 => method(0x003, junk),
        6 => method(0x004, junk),
        7 => method(0x7a1, junk),
        _ => junk.to_vec(),
    }
}
