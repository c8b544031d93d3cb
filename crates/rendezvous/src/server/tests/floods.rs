//! One network that asks for everything, and hosts elsewhere.

use super::*;

const START: Time = Time::from_nanos(1_000_000_000_000);

fn numbered(number: u32) -> SecretKey {
    let mut seed = [0; 32];
    seed[..4].copy_from_slice(&number.to_be_bytes());
    SecretKey::from_seed(seed)
}

/// A small server: 400 registrations, 10 of a network; 40 relayed addresses, 8 of a network.
fn small() -> Server {
    let mut config = Config::new([3; 16]);
    config.limits.registrations = 400;
    config.limits.registrations_per_network = 10;
    config.limits.allocations = 40;
    config.limits.allocations_per_network = 8;
    config.limits.allocations_per_key = 2;
    config.limits.requests_burst = 1_000_000;
    Server::new(config, Rng::new(1))
}

/// Registers a key. The code of the error, if there is one.
fn register(server: &mut Server, now: Time, number: u32, path: Path) -> Option<u16> {
    let nonce = server.nonces.draw(now, path.address());
    let content = Content::Register(Register::signed(&numbered(number), nonce, [1; 16], 60));
    server.handle(now, path, &Message { transaction: 5.into(), content }.encode());
    let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("no answer") };
    match Message::parse(&bytes).expect("an answer").content {
        Content::Registered(_) => None,
        Content::Refused(refused) => Some(refused.code),
        other => panic!("{other:?}"),
    }
}

/// Registers `count` keys of each address. How many were accepted. Before each address, a host
/// elsewhere registers anew, from another port.
fn flood(server: &mut Server, first: u32, addresses: &[String], count: u32) -> usize {
    let mut number = first;
    let mut accepted = 0;
    for (turn, address) in addresses.iter().enumerate() {
        let honest = udp(&format!("{}:{}", HONEST_MOVING, 1000 + turn));
        assert_eq!(register(server, START, 8000, honest), None, "after {address}");
        for port in 0..count {
            let path = udp(&format!("{address}:{}", 1000 + port));
            accepted += usize::from(register(server, START, number, path).is_none());
            number += 1;
        }
        server.check();
    }
    accepted
}

/// A host that changes its port.
const HONEST_MOVING: &str = "[2a03:1:2:3::1]";
/// Hosts of three other networks.
const HONEST: [&str; 3] = ["9.9.9.9:1000", "[2620:fe::fe]:1000", "[2a02:1:2:3::1]:1000"];

#[test]
fn one_ipv6_network_cannot_take_all_registrations() {
    let mut server = small();
    let subnets = |site: &str, count: u16| -> Vec<String> {
        (0..count).map(|subnet| format!("[{site}{subnet:x}::1]")).collect()
    };
    assert_eq!(flood(&mut server, 0, &subnets("2a00:1:2:", 30), 12), 160, "of a /48");
    let sites: Vec<_> = (3..9).flat_map(|site| subnets(&format!("2a00:1:{site}:"), 5)).collect();
    assert_eq!(flood(&mut server, 1000, &sites, 12), 140, "of a /32, with the others");
    for (number, host) in HONEST.into_iter().enumerate() {
        assert_eq!(register(&mut server, START, 9000 + number as u32, udp(host)), None, "{host}");
    }
    server.check();
}

#[test]
fn one_ipv4_network_cannot_take_all_registrations() {
    let mut server = small();
    let hosts = |net: &str, count: u16| -> Vec<String> {
        (0..count).map(|host| format!("{net}.{host}")).collect()
    };
    assert_eq!(flood(&mut server, 0, &hosts("9.1.1", 30), 12), 160, "of a /24");
    let others: Vec<_> = (2..7).flat_map(|net| hosts(&format!("9.1.{net}"), 5)).collect();
    assert_eq!(flood(&mut server, 1000, &others, 12), 140, "of a /16, with the others");
    for (number, host) in HONEST.into_iter().enumerate() {
        assert_eq!(register(&mut server, START, 9000 + number as u32, udp(host)), None, "{host}");
    }
    server.check();
}

/// Networks that have each no more than they may have fill the table. A host of another network takes
/// the place of one of the greatest.
#[test]
fn a_full_table_makes_room_for_smaller_networks_only() {
    let mut server = small();
    let of = |net: &str, last: u16| -> Vec<String> {
        (1..=last).map(|last| format!("{net}.{last}")).collect()
    };
    let greatest = [of("9.1.1", 14), of("9.1.2", 15)].concat();
    assert_eq!(flood(&mut server, 0, &greatest, 10), 290);
    assert_eq!(flood(&mut server, 1000, &of("8.1.1", 11), 10), 110, "it makes room for one");
    assert_eq!(server.counters().registrations, 400);
    for (number, host) in HONEST.into_iter().enumerate() {
        assert_eq!(register(&mut server, START, 9000 + number as u32, udp(host)), None, "{host}");
    }
    // One more of the greatest network has no better right than those that are there.
    assert_eq!(register(&mut server, START, 9900, udp("9.1.1.99:1")), None, "of another /32");
    // Some of its addresses have made room; the others have their share.
    let full = Some(Refused::FULL);
    let at = |address: &String| udp(&format!("{address}:9"));
    let refused = |address| register(&mut server, START, 9901, at(address)) == full;
    assert!(greatest.iter().any(refused), "of the same");
    assert_eq!(server.counters().registrations, 400);
    for (number, host) in HONEST.into_iter().enumerate() {
        let key = numbered(9000 + number as u32).public_key();
        let path = server.registrations.get(START, &key).map(|one| one.path);
        assert_eq!(path, Some(udp(host)), "they keep their places");
    }
    server.check();
}

/// A request for a relayed address, or for its refresh. The code of the error, if there is one.
fn turn(server: &mut Server, now: Time, (method, number): (u16, u32), path: Path) -> Option<u16> {
    use stun_types::message::{IntegrityAlgorithm, LongTermKeyCredentials, MessageWriteExt};
    let class = stun_types::message::MessageClass::Request;
    let kind = MessageType::from_class_method(class, stun_types::message::Method::new(method));
    let transaction = u128::from(server.rng.bits()).into();
    let mut message = Stun::builder(kind, transaction, MessageWriteVec::new());
    let user = relay::credentials(&server.secret, &numbered(number).public_key());
    let nonce = server.nonces.draw(now, path.address());
    if method == 3 {
        stun::add(&mut message, stun::REQUESTED_TRANSPORT, &[17, 0, 0, 0]);
    }
    if method == 8 {
        let peer = address("9.8.7.6:9");
        let xor = stun_types::attribute::XorSocketAddr::new(peer, transaction);
        message.push_attribute_unchecked(&xor.to_raw(stun::XOR_PEER_ADDRESS));
    }
    stun::add(&mut message, stun::USERNAME, user.username.as_bytes());
    stun::add(&mut message, stun::REALM, b"windlass");
    stun::add(&mut message, stun::NONCE, nonce.as_str().as_bytes());
    let known = LongTermKeyCredentials::new(user.username, user.password, "windlass".into());
    let added = message.add_message_integrity(&known.into(), IntegrityAlgorithm::Sha1);
    added.expect("the first integrity");
    server.handle(now, path, &message.finish());
    while let Some(request) = server.poll_relay() {
        if let RelayRequest::Open { allocation, .. } = request {
            let port = 50_000 + allocation.0 as u16;
            server.relay_opened(now, allocation, Some(([203, 0, 113, 1], port).into()));
        }
    }
    let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("no answer") };
    server.check();
    let answer = Stun::from_bytes(&bytes).expect("STUN");
    let code = stun::value(&answer, stun::ERROR_CODE)?;
    Some(u16::from(code[2]) * 100 + u16::from(code[3]))
}

const ALLOCATE: u16 = 3;
const REFRESH: u16 = 4;
const CREATE_PERMISSION: u16 = 8;

#[test]
fn one_address_cannot_take_the_relay() {
    let mut server = small();
    let at = |port: u32| udp(&format!("192.0.2.1:{}", 1000 + port));
    let asked = (0..60).map(|port| turn(&mut server, START, (ALLOCATE, port / 2), at(port)));
    let codes: Vec<_> = asked.collect();
    assert_eq!(codes.iter().filter(|code| code.is_none()).count(), 8);
    assert!(codes[8..].iter().all(|code| *code == Some(486)), "{codes:?}");
    for (number, host) in HONEST.into_iter().enumerate() {
        let asked = (ALLOCATE, 9000 + number as u32);
        assert_eq!(turn(&mut server, START, asked, udp(host)), None, "{host}");
    }
}

/// All addresses of a /24, then those of a /16, ask, and use what they get.
#[test]
fn one_ipv4_network_cannot_take_the_relay() {
    let mut server = small();
    let near = (0..10).map(|host| (host, format!("9.1.1.{host}")));
    let far = (10..30).map(|host| (host, format!("9.1.{host}.1")));
    let mut accepted = Vec::new();
    for (host, address) in near.chain(far) {
        let at = |port: u32| udp(&format!("{address}:{}", 1000 + port));
        let asked = |port| (ALLOCATE, host * 8 + port);
        let ask = |port| turn(&mut server, START, asked(port), at(port));
        accepted.push((0..8).map(ask).filter(Option::is_none).count());
    }
    assert_eq!(accepted[..10].iter().sum::<usize>(), 20, "half, of a /24: {accepted:?}");
    assert_eq!(accepted.iter().sum::<usize>(), 30, "three quarters, of a /16: {accepted:?}");
    for (number, host) in HONEST.into_iter().enumerate() {
        let asked = (ALLOCATE, 9000 + number as u32);
        assert_eq!(turn(&mut server, START, asked, udp(host)), None, "{host}");
    }
}

/// Refreshes keep an allocation from expiring, and are no use of it. Datagrams are.
#[test]
fn an_allocation_that_carries_nothing_makes_room() {
    let mut server = small();
    let at = |port: u32| udp(&format!("192.0.2.1:{}", 1000 + port));
    for port in 0..8 {
        assert_eq!(turn(&mut server, START, (ALLOCATE, port), at(port)), None);
        assert_eq!(turn(&mut server, START, (CREATE_PERMISSION, port), at(port)), None);
    }
    let later = START + Span::from_secs(29);
    for port in 0..8 {
        assert_eq!(turn(&mut server, later, (REFRESH, port), at(port)), None);
    }
    // A datagram of a peer to all but the fourth.
    for id in (0..8).filter(|id| *id != 3) {
        server.handle_relayed(later, AllocationId(id), address("9.8.7.6:9"), b"in");
        assert!(server.poll_transmit().is_some());
    }
    assert_eq!(turn(&mut server, later, (ALLOCATE, 90), at(90)), Some(486));
    let end = START + Span::from_secs(31);
    assert_eq!(turn(&mut server, end, (ALLOCATE, 90), at(90)), None);
    assert_eq!(turn(&mut server, end, (REFRESH, 3), at(3)), Some(437), "it has made room");
    assert_eq!(turn(&mut server, end, (REFRESH, 2), at(2)), None);
    assert_eq!(turn(&mut server, end, (ALLOCATE, 91), at(91)), Some(486), "all others are used");
}

#[test]
fn a_full_relay_takes_the_place_of_what_carries_nothing() {
    let mut server = small();
    for host in 0..40 {
        let path = udp(&format!("9.{host}.9.1:1000"));
        assert_eq!(turn(&mut server, START, (ALLOCATE, host), path), None);
    }
    let newcomer = udp("8.8.8.8:1000");
    assert_eq!(turn(&mut server, START, (ALLOCATE, 90), newcomer), Some(508));
    let later = START + Span::from_secs(31);
    assert_eq!(turn(&mut server, later, (ALLOCATE, 90), newcomer), None);
    assert_eq!(server.counters().allocations, 40);
}

/// Of a stream, only what belongs to it is looked at.
#[test]
fn the_end_of_a_stream_ends_what_it_had_and_nothing_else() {
    let mut server = small();
    let stream = |id: u64| Path::Stream { id, address: address(&format!("9.9.{id}.1:1000")) };
    for id in 0..10 {
        for key in 0..2 {
            assert_eq!(register(&mut server, START, (id * 2 + key) as u32, stream(id)), None);
        }
        assert_eq!(turn(&mut server, START, (ALLOCATE, id as u32), stream(id)), None);
    }
    server.stream_closed(START, 4);
    server.check();
    let counters = server.counters();
    assert_eq!((counters.registrations, counters.allocations), (18, 9));
    assert_eq!(turn(&mut server, START, (REFRESH, 4), stream(4)), Some(437));
    assert_eq!(turn(&mut server, START, (REFRESH, 5), stream(5)), None);
}
