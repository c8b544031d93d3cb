use super::*;
use crate::client::{Client, Config as ClientConfig, Event, Failure, Transport};
use stun_types::message::{MessageType, MessageWrite, MessageWriteVec};
use windlass_base::Rng;
use windlass_identity::{PublicKey, SecretKey};

mod floods;
mod replays;
mod turn;
mod unverified;

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
            server_key: None,
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
    let nonce = world.server.nonces.draw(world.now, host.address());
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
fn the_server_proves_its_key_to_a_host_that_asks() {
    let mut world = World::new();
    world.server.key = Some(secret(9));
    let host = udp("192.0.2.1:1000");
    for challenge in [Some([4; 16]), None] {
        let nonce = world.server.nonces.draw(world.now, host.address());
        let register = Register::signed(&secret(1), nonce, [1; 16], 60);
        let content = Content::Register(Register { challenge, ..register });
        world.server.handle(world.now, host, &Message { transaction: 5.into(), content }.encode());
        let Some(Transmit::Host { bytes, .. }) = world.server.poll_transmit() else { panic!() };
        let answer = Message::parse(&bytes).expect("a message").content;
        let Content::Registered(registered) = answer else { panic!("{answer:?}") };
        let proved = registered.proved_key(&key(1), &[4; 16]);
        assert_eq!(proved, Ok(challenge.map(|_| key(9))));
    }
}

#[test]
fn a_forged_signature_registers_nothing() {
    let mut world = World::new();
    let host = udp("192.0.2.1:1000");
    let nonce = world.server.nonces.draw(world.now, host.address());
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
        let nonce = server.nonces.draw(now, path.address());
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
    let nonce = server.nonces.draw(now, host.address());
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
