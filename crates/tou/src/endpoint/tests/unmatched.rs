//! Datagrams that belong to no connection.

use super::network::{Network, Packet, address, config};
use crate::endpoint::Limits;
use std::net::SocketAddr;
use windlass_base::{Ecn, Rng, Span};
use windlass_tcp::{Error, Flags, Options, Segment, SeqNumber, State, Timestamps};
use windlass_tou_wire as wire;

fn to_host_1(bytes: &[u8]) -> Packet {
    Packet { from: address(2), to: address(1), ecn: Ecn::NotEct, bytes: bytes.to_vec() }
}

#[test]
fn other_datagrams_are_counted_and_not_answered() {
    let mut network = Network::new(1);
    let mut stun = [0; 20];
    stun[1] = 1;
    stun[4..8].copy_from_slice(&[0x21, 0x12, 0xa4, 0x42]);
    let mut later_version = [0; 16];
    wire::emit(&Segment::default(), &mut later_version);
    later_version[12] |= 1;
    for bytes in [&b"what?"[..], &stun, &later_version, &[]] {
        network.send(to_host_1(bytes));
    }
    network.run(Span::from_millis(50));
    let counters = *network.host(1).counters();
    assert_eq!((counters.unknown, counters.stun, counters.malformed), (1, 1, 1));
    assert_eq!(counters.sent, 0);
    assert_eq!(network.host(1).poll_stun(), Some((address(2).into(), stun.into())));
    assert_eq!(network.host(1).poll_stun(), None);
}

#[test]
fn a_connection_to_a_port_that_does_not_listen_is_refused() {
    let mut network = Network::new(2);
    let client = network.connect(1, 2);
    network.run(Span::from_millis(50));
    assert_eq!(network.host(1).error(client), Some(Error::Refused));
}

/// The listener is bound to all addresses, so IPv4 peers have mapped addresses. Checks SYN-ACKs with
/// and without a cookie.
#[test]
fn the_mss_option_depends_on_the_address_family_of_the_peer() {
    let syn = Segment {
        flags: Flags::SYN,
        options: Options { mss: Some(9000), ..Options::default() },
        ..Segment::default()
    };
    let mut bytes = [0; 64];
    let len = wire::emit(&syn, &mut bytes);
    for (peer, mss) in
        [("[2001:db8::1]:1", 1436), ("[::ffff:192.0.2.1]:1", 1456), ("192.0.2.1:1", 1456)]
    {
        let mut network = Network::new(1);
        let now = network.now;
        let host = network.host(1);
        host.listen(config(), 1).expect("free");
        let peer: SocketAddr = peer.parse().expect("an address");
        let again = SocketAddr::new(peer.ip(), 2);
        let mut out = Vec::new();
        for from in [peer, again] {
            host.handle_datagrams(now, from, Ecn::NotEct, &bytes[..len], len);
            let answer = host.poll_transmit(now, 1, &mut out).expect("a SYN-ACK");
            let (segment, _) = wire::parse(&out[..answer.len]).expect("a segment");
            assert_eq!(segment.options.mss, Some(mss), "{from}");
        }
        assert_eq!(host.counters().cookies_sent, 1);
    }
}

/// RFC 9293 §3.10.7.1.
#[test]
fn strays_are_reset_as_often_as_the_budget_allows_and_resets_are_not() {
    let mut network = Network::with_limits(1, Limits { replies_per_s: 10, ..Limits::default() });
    let mut bytes = [0; 16];
    for flags in [Flags::ACK, Flags::RST] {
        let segment = Segment { seq: SeqNumber(7), flags, ..Segment::default() };
        wire::emit(&segment, &mut bytes);
        for _ in 0..1000 {
            network.send(to_host_1(&bytes));
        }
    }
    network.run(Span::from_millis(50));
    let counters = *network.host(1).counters();
    assert_eq!((counters.resets, counters.unanswered, counters.strays), (10, 990, 2000));
}

/// RFC 5961 §5: an attacker must guess two numbers, and with timestamps a third.
#[test]
fn a_million_blind_segments_at_a_window_of_256_kib_corrupt_and_close_nothing() {
    let with = config().with(|c| c.buffers.receive = 256 << 10);
    let mut network = Network::new(2);
    network.host(2).listen(with.clone(), 1).expect("free");
    let now = network.now;
    let client = network.host(1).connect(now, address(2), with).expect("new");
    network.run(Span::from_millis(100));
    let server = network.host(2).accept().expect("complete");
    let data = super::network::pattern(400_000);
    let mut rng = Rng::new(1);
    let mut bytes = [0x55; 200];
    let mut out = Vec::new();
    for part in data.chunks(4000) {
        for _ in 0..10_000 {
            let timestamps = Timestamps { value: rng.bits() as u32, echo_reply: rng.bits() as u32 };
            let any = Flags::from_bits_retain(rng.bits() as u16 & 0x1f);
            let segment = Segment {
                seq: SeqNumber(rng.bits() as u32),
                ack: SeqNumber(rng.bits() as u32),
                flags: if rng.chance(0.5) { Flags::ACK } else { any },
                window: rng.bits() as u16,
                options: Options { timestamps: Some(timestamps), ..Options::default() },
                payload_len: 0,
            };
            wire::emit(&segment, &mut bytes);
            let now = network.now;
            let host = network.host(2);
            host.handle_datagrams(now, address(1), Ecn::NotEct, &bytes, bytes.len());
            // Drops the answers.
            while host.poll_transmit(now, 44, &mut out).is_some() {}
        }
        let arrived = network.transfer((1, client), (2, server), part);
        assert!(arrived == part);
    }
    assert_eq!(network.host(2).error(server), None);
}

/// RFC 5961: ending a connection requires its sequence numbers.
#[test]
fn blind_resets_and_syns_change_nothing() {
    let mut network = Network::new(2);
    network.host(2).listen(config(), 1).expect("free");
    let [client, server] = network.pair();
    for flags in [Flags::RST, Flags::RST | Flags::ACK, Flags::SYN, Flags::FIN | Flags::ACK] {
        for step in 0..1000u32 {
            let seq = SeqNumber(step.wrapping_mul(4_294_967));
            let mut bytes = [0; 16];
            wire::emit(&Segment { seq, flags, window: 1, ..Segment::default() }, &mut bytes);
            network.send(to_host_1(&bytes));
        }
    }
    network.run(Span::from_secs(1));
    assert_eq!(network.host(1).error(client), None);
    let data = super::network::pattern(10_000);
    assert!(network.transfer((2, server), (1, client), &data) == data);
}

/// The socket accepts no datagrams meanwhile.
#[test]
fn replies_that_wait_for_the_socket_are_bounded() {
    let mut network = Network::new(1);
    let mut bytes = [0; 16];
    let segment = Segment { seq: SeqNumber(7), flags: Flags::ACK, ..Segment::default() };
    wire::emit(&segment, &mut bytes);
    let now = network.now;
    for _ in 0..5000 {
        network.host(1).handle_datagrams(now, address(2), Ecn::NotEct, &bytes, bytes.len());
    }
    let counters = *network.host(1).counters();
    assert_eq!((counters.resets, counters.unanswered), (1024, 3976));
    let mut out = Vec::new();
    let waiting = std::iter::from_fn(|| network.host(1).poll_transmit(now, 1, &mut out));
    assert_eq!(waiting.count(), 1024);
}

#[test]
fn a_full_accept_queue_drops_syns_until_a_connection_is_accepted() {
    let mut network = Network::new(4);
    network.host(4).listen(config(), 2).expect("free");
    let clients: Vec<_> = (1..=3)
        .map(|host| {
            let client = network.connect(host, 4);
            network.run(Span::from_millis(50));
            client
        })
        .collect();
    assert_eq!(network.host(4).counters().overflowed, 1);
    assert_eq!(network.state(3, clients[2]), State::SynSent);
    assert!(network.host(4).accept().is_some());
    network.run(Span::from_secs(4));
    assert_eq!(network.state(3, clients[2]), State::Established);
    assert_eq!(network.host(4).counters().cookies_sent, 0, "the backlog was never full");
}

#[test]
fn stun_messages_that_wait_for_the_user_are_bounded() {
    let mut network = Network::new(1);
    let mut stun = [0; 20];
    stun[4..8].copy_from_slice(&[0x21, 0x12, 0xa4, 0x42]);
    for _ in 0..100 {
        network.send(to_host_1(&stun));
    }
    network.run(Span::from_millis(50));
    assert_eq!(network.host(1).counters().stun, 100);
    let kept = std::iter::from_fn(|| network.host(1).poll_stun()).count();
    assert_eq!(kept, 64);
}

/// RFC 5927 §4.1: a report must quote the SYN, which an attacker does not know.
#[test]
fn an_icmp_report_ends_only_the_opening_that_it_quotes() {
    let mut network = Network::new(3);
    network.passes = Box::new(|_| false);
    let (second, third) = (network.connect(1, 2), network.connect(1, 3));
    let mut syn = Vec::new();
    let now = network.now;
    let sent = network.host(1).poll_transmit(now, 1, &mut syn).expect("a SYN");
    assert_eq!(sent.peer, address(2));
    let mut forged = syn.clone();
    forged[3] ^= 1;
    let host = network.host(1);
    assert_eq!(host.handle_unreachable(address(4), Error::Refused, &[]), None);
    assert_eq!(host.handle_unreachable(address(2), Error::Refused, &forged), None);
    assert_eq!(host.handle_unreachable(address(2), Error::Refused, &syn), Some(second));
    // Some routers quote eight bytes of UDP, and nothing of the segment.
    assert_eq!(host.handle_unreachable(address(3), Error::Unreachable, &[]), Some(third));
    network.run(Span::from_millis(1));
    assert_eq!(network.host(1).error(second), Some(Error::Refused));
    assert_eq!(network.host(1).error(third), Some(Error::Unreachable));
}
