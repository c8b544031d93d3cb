//! Sources that have shown no nonce.

use super::*;
use crate::message::{Introduced, Nonce};
use proptest::prelude::*;
use stun_types::message::{IntegrityAlgorithm, MessageClass, MessageWriteExt, Method};
use stun_types::message::{LongTermKeyCredentials, ShortTermCredentials};
use windlass_base::Rng;

const NOW: Time = Time::from_nanos(1_000_000_000_000);

/// Four addresses that prove nothing, of both families.
fn source(number: u8, socket: u8) -> Path {
    let hosts = ["192.0.2.1:1000", "192.0.2.2:1000", "[2001:db8::1]:1000", "[2001:db8::2]:1000"];
    Path::Udp { socket: socket & 3, address: address(hosts[usize::from(number & 3)]) }
}

/// The address of a host that has registered the key 2, for introductions to it, and its nonce.
fn registered(server: &mut Server) -> (Path, Nonce) {
    let path = udp("198.51.100.9:1000");
    let nonce = server.nonces.draw(NOW, path.address());
    let content = Content::Register(Register::signed(&secret(2), nonce, [2; 16], 60));
    server.handle(NOW, path, &Message { transaction: 5.into(), content }.encode());
    while server.poll_transmit().is_some() {}
    (path, server.nonces.draw(NOW, path.address()))
}

proptest! {
    /// Whatever arrives, each of these addresses gets at most as many bytes as it sent: of every
    /// method and class, with every attribute that changes the answer, from every socket.
    #[test]
    fn an_unverified_address_never_gets_more_than_it_sent(
        messages in prop::collection::vec(
            (any::<(u8, u8, u8, u8, bool)>(), prop::collection::vec(any::<u8>(), 0..120)),
            1..40,
        ),
    ) {
        let mut config = Config::new([3; 16]);
        config.alternate = Some([1, 2, 3, 4].map(|last| ([203, 0, 113, last], 3478).into()));
        let mut server = Server::new(config, Rng::new(1));
        let (host, stolen) = registered(&mut server);
        let mut balance = std::collections::BTreeMap::new();
        for ((from, socket, kind, flags, own), junk) in messages {
            let path = source(from, socket);
            // A nonce that is another address's, or none that the server ever gave.
            let nonce = if own { stolen.clone() } else { Nonce::new(&"0".repeat(24)).expect("a nonce") };
            let bytes = request_without_proof(kind, flags, &nonce, &junk);
            *balance.entry(path.address()).or_insert(0_i64) += bytes.len() as i64;
            server.handle(NOW, path, &bytes);
            server.check();
            while let Some(transmit) = server.poll_transmit() {
                let Transmit::Host { path, bytes } = transmit else { panic!("no relay is open") };
                prop_assert!(path != host, "nothing is forwarded for an unverified host");
                let left = balance.entry(path.address()).or_insert(0);
                *left -= bytes.len() as i64;
                prop_assert!(*left >= 0, "{path:?}");
            }
        }
    }
}

/// Every method of STUN, TURN and Windlass.
const METHODS: [u16; 10] = [1, 3, 4, 6, 7, 8, 9, 0x7a1, 0x7a2, 0xfff];

/// A message of any kind, without a nonce that is valid for its source.
fn request_without_proof(kind: u8, flags: u8, nonce: &Nonce, junk: &[u8]) -> Vec<u8> {
    let content = |content| Message { transaction: 3.into(), content }.encode();
    match kind % 24 {
        0 => content(Content::Hello(REGISTER)),
        1 => content(Content::Hello(INTRODUCE)),
        2 => content(Content::Register(Register::signed(&secret(1), nonce.clone(), [1; 16], 60))),
        3 => content(Content::KeepAlive(KeepAlive { token: [1; 16], lifetime_s: flags.into() })),
        4 => {
            let target = (flags & 1 == 0).then(|| key(2));
            let one =
                Introduce::signed(&secret(1), nonce.clone(), target, [flags; 16], junk.into());
            content(Content::Introduce(one))
        }
        5 => content(Content::Introduced(Introduced::signed(&secret(1), [1; 16], junk.into()))),
        6 => content(Content::Refused(Refused::with_code(INTRODUCE, 403))),
        7 => [&[0x40, flags, 0, junk.len() as u8], junk].concat(),
        8 => junk.to_vec(),
        kind => stun_message(METHODS[usize::from(kind) % METHODS.len()], flags, nonce, junk),
    }
}

/// A message of STUN with attributes by the bits of `flags`.
fn stun_message(method: u16, flags: u8, nonce: &Nonce, junk: &[u8]) -> Vec<u8> {
    let class = match flags & 3 {
        0 => MessageClass::Indication,
        1 => MessageClass::Error,
        _ => MessageClass::Request,
    };
    let kind = MessageType::from_class_method(class, Method::new(method));
    let mut message = Stun::builder(kind, 7.into(), MessageWriteVec::new());
    let mut add = |kind: u16, value: &[u8]| {
        stun::add(&mut message, stun_types::attribute::AttributeType::new(kind), value);
    };
    for (bit, kind, value) in [
        // CHANGE-REQUEST: from another socket.
        (2, 0x0003, &[0, 0, 0, junk.len() as u8 & 6][..]),
        (3, 0x0019, &[17, 0, 0, 0]),
        (4, 0x0006, b"user"),
        (4, 0x0014, b"windlass"),
        (4, 0x0015, nonce.as_str().as_bytes()),
        // One that must be understood, and is not.
        (5, 0x7777, &junk[..junk.len().min(4)]),
        (6, 0xc0ff, junk),
    ] {
        if flags >> bit & 1 == 1 {
            add(kind, value);
        }
    }
    if flags >> 7 == 1 {
        let credentials = match junk.len() & 1 {
            0 => LongTermKeyCredentials::new("user".into(), "x".into(), "windlass".into()).into(),
            _ => ShortTermCredentials::new("x".into()).into(),
        };
        let added = message.add_message_integrity(&credentials, IntegrityAlgorithm::Sha1);
        added.expect("the first integrity");
        message.add_fingerprint().expect("the first fingerprint");
    }
    message.finish()
}

/// A challenge over IPv6 is the longest answer. It must not be longer than the shortest request of
/// hosts, or no host that is new would ever get one.
#[test]
fn the_shortest_greeting_is_answered_at_once_over_ipv6() {
    let mut server = server();
    let hello = Message { transaction: 3.into(), content: Content::Hello(REGISTER) }.encode();
    server.handle(NOW, udp("[2001:db8::1]:1000"), &hello);
    let Some(Transmit::Host { bytes, .. }) = server.poll_transmit() else { panic!("withheld") };
    assert!(bytes.len() <= hello.len(), "{} and {}", bytes.len(), hello.len());
}
