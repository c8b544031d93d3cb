//! SYN cookies, which a listener sends when its backlog is full.

use super::network::{Network, Packet, address, config, pattern};
use crate::endpoint::{ConnectionId, Limits};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use windlass_base::{Ecn, Span};
use windlass_tcp::{Config, Flags, Options, Segment, SeqNumber, Timestamps};
use windlass_tou_wire as wire;

fn flood(network: &mut Network, syns: u32) {
    for i in 0..syns {
        let segment = Segment {
            seq: SeqNumber(i),
            flags: Flags::SYN,
            options: Options { mss: Some(1456), ..Options::default() },
            ..Segment::default()
        };
        let [a, b, c, d] = i.to_be_bytes();
        let from = SocketAddr::from(([100 + a, b, c, d], 1));
        let mut bytes = vec![0; wire::MAX_HEADER_LEN];
        let len = wire::emit(&segment, &mut bytes);
        bytes.truncate(len);
        network.send(Packet { from, to: address(2), ecn: Ecn::NotEct, bytes });
    }
}

/// Host 2 listens with a backlog of 4, which half-open connections of other hosts fill.
fn flooded(config: Config) -> Network {
    let mut network = Network::new(2);
    network.host(2).listen(config, 4).expect("free");
    flood(&mut network, 1000);
    network.run(Span::from_millis(20));
    network
}

#[test]
fn a_flood_fills_the_backlog_and_no_more() {
    let mut network = flooded(config());
    assert_eq!(network.host(2).len(), 4);
    assert_eq!(network.host(2).counters().cookies_sent, 996);
    // The half-open connections time out.
    network.run(Span::from_secs(400));
    assert_eq!(network.host(2).len(), 0);
    // Their places in the backlog are free again.
    let _ = network.pair();
    assert_eq!(network.host(2).counters().cookies_sent, 996);
}

#[test]
fn a_connection_from_a_cookie_has_all_that_was_offered() {
    for (offered, ecn) in [(true, true), (true, false), (false, false)] {
        let with = config().with(|c| {
            c.extensions.timestamps = offered;
            c.extensions.sack = offered;
            c.extensions.window_scaling = offered;
            c.ecn.enabled = ecn;
        });
        let mut network = flooded(config().with(|c| c.ecn.enabled = true));
        let now = network.now;
        let client = network.host(1).connect(now, address(2), with).expect("new");
        network.run(Span::from_millis(100));
        assert_eq!(network.host(2).counters().cookies_redeemed, 1);
        let server = network.host(2).accept().expect("complete");
        let of_server = network.host(2).stream(server).expect("there").connection();
        assert_eq!(of_server.sack_negotiated(), offered);
        assert_eq!(of_server.ecn_negotiated(), ecn);
        let rtt = of_server.smoothed_rtt().expect("a sample").as_millis_f64();
        if offered {
            // A cookie stores the time with a resolution of 64 ms.
            assert!((20.0..=84.0).contains(&rtt), "{rtt}");
        }
        let data = pattern(300_000);
        assert!(network.transfer((1, client), (2, server), &data) == data);
        assert!(network.transfer((2, server), (1, client), &data) == data);
        // The MSS of the SYN, after a probe was confirmed. Without SACK probes are not confirmed.
        let mss = network.host(2).stream(server).expect("there").connection().mss();
        assert_eq!(mss, if offered { 1444 } else { 1184 });
    }
}

/// The SYN-ACK must not accept options that the cookie cannot carry.
#[test]
fn a_cookie_without_timestamps_negotiates_no_sack_and_no_window_scaling() {
    let mut network = flooded(config());
    let now = network.now;
    let with = config().with(|c| c.extensions.timestamps = false);
    let client = network.host(1).connect(now, address(2), with).expect("new");
    network.run(Span::from_millis(100));
    assert_eq!(network.host(2).counters().cookies_redeemed, 1);
    let server = network.host(2).accept().expect("complete");
    for (host, id) in [(1, client), (2, server)] {
        let connection = network.host(host).stream(id).expect("there").connection();
        assert!(!connection.sack_negotiated(), "host {host}");
    }
}

/// For a SYN in the backlog and for a cookie, with all options, one option and no options.
#[test]
fn no_syn_ack_is_longer_than_its_syn() {
    let all = Options {
        mss: Some(1456),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 7, echo_reply: 0 }),
        ..Options::default()
    };
    let some = Options { mss: Some(1456), ..Options::default() };
    for options in [all, some, Options::default()] {
        let segment = Segment { flags: Flags::SYN, options, ..Segment::default() };
        let mut syn = [0; wire::MAX_HEADER_LEN];
        let len = wire::emit(&segment, &mut syn);
        let mut network = Network::new(2);
        network.host(2).listen(config(), 1).expect("free");
        let now = network.now;
        let mut out = Vec::new();
        for port in 1..=2 {
            let from = SocketAddr::from(([100, 1, 1, 1], port));
            network.host(2).handle_datagrams(now, from, Ecn::NotEct, &syn[..len], len);
            let answer = network.host(2).poll_transmit(now, 1, &mut out).expect("an answer");
            assert!(answer.len <= len, "{options:?}: {} bytes for {len}", answer.len);
        }
        assert_eq!(network.host(2).counters().cookies_sent, 1);
    }
}

/// A network as [`flooded`] makes it, and the ACK with which host 1 returns its cookie. The ACK has
/// not reached host 2. Only what a test sends does.
fn cookie_on_its_way() -> (Network, Packet) {
    let mut network = flooded(config());
    let acks = Rc::new(RefCell::new(Vec::new()));
    let withheld = Rc::clone(&acks);
    network.passes = Box::new(move |packet| {
        let is_handshake = packet.segment().flags.contains(Flags::SYN);
        if !is_handshake && packet.from == address(1) {
            withheld.borrow_mut().push(packet.clone());
        }
        is_handshake
    });
    let _ = network.connect(1, 2);
    network.run(Span::from_millis(100));
    network.passes = Box::new(|packet| packet.to == address(2));
    let ack = acks.borrow()[0].clone();
    assert_eq!(ack.segment().flags, Flags::ACK);
    (network, ack)
}

/// The same packet with another segment in it.
fn changed(packet: &Packet, change: impl FnOnce(&mut Segment)) -> Packet {
    let mut changed = packet.clone();
    let mut segment = packet.segment();
    change(&mut segment);
    wire::emit(&segment, &mut changed.bytes);
    changed
}

/// Sends packets to host 2 and returns the number of connections that came from cookies so far.
fn redeemed_after(network: &mut Network, packets: impl IntoIterator<Item = Packet>) -> u64 {
    packets.into_iter().for_each(|packet| network.send(packet));
    network.run(Span::from_millis(20));
    network.host(2).counters().cookies_redeemed
}

#[test]
fn a_guessed_cookie_makes_no_connection() {
    let (mut network, ack) = cookie_on_its_way();
    let guesses = (1..1000)
        .map(|ahead| changed(&ack, |segment| segment.ack = segment.ack.at(ahead)))
        .collect::<Vec<_>>();
    assert_eq!(redeemed_after(&mut network, guesses), 0);
    assert_eq!(redeemed_after(&mut network, [ack]), 1, "the right one");
}

#[test]
fn a_cookie_is_bound_to_the_initial_sequence_number_of_the_client() {
    let (mut network, ack) = cookie_on_its_way();
    let others = (1..100)
        .map(|ahead| changed(&ack, |segment| segment.seq = segment.seq.at(ahead)))
        .collect::<Vec<_>>();
    assert_eq!(redeemed_after(&mut network, others), 0);
    assert_eq!(redeemed_after(&mut network, [ack]), 1, "the client's own");
}

#[test]
fn a_cookie_is_bound_to_the_address_of_the_client() {
    let (mut network, ack) = cookie_on_its_way();
    let other = Packet { from: address(9), ..ack.clone() };
    assert_eq!(redeemed_after(&mut network, [other]), 0);
    assert_eq!(redeemed_after(&mut network, [ack]), 1, "the client's own");
}

#[test]
fn a_cookie_is_bound_to_the_port_of_the_client() {
    let (mut network, ack) = cookie_on_its_way();
    let from = SocketAddr::new(address(1).ip(), address(1).port() + 1);
    let other = Packet { from, ..ack.clone() };
    assert_eq!(redeemed_after(&mut network, [other]), 0);
    assert_eq!(redeemed_after(&mut network, [ack]), 1, "the client's own");
}

/// Bits 24 to 31 of a cookie: the code of the segment size, and the period.
#[test]
fn a_client_cannot_change_the_segment_size_or_the_period_of_its_cookie() {
    let (mut network, ack) = cookie_on_its_way();
    // In the next period, so that one changed bit makes the cookie look fresh.
    network.run(Span::from_secs(64));
    let others = (24..32)
        .map(|bit| {
            changed(&ack, |segment| {
                let cookie = segment.ack.0.wrapping_sub(1) ^ 1 << bit;
                segment.ack = SeqNumber(cookie.wrapping_add(1));
            })
        })
        .collect::<Vec<_>>();
    assert_eq!(redeemed_after(&mut network, others), 0);
    assert_eq!(redeemed_after(&mut network, [ack]), 1, "as the listener made it");
}

/// The counter of periods has five bits.
#[test]
fn a_cookie_is_not_good_again_when_its_counter_wraps_around() {
    let (mut network, ack) = cookie_on_its_way();
    network.run(Span::from_secs(32 * 64));
    assert_eq!(redeemed_after(&mut network, [ack]), 0);
}

/// The flood goes on, so that the listener looks at cookies all the time.
#[test]
fn a_cookie_is_good_in_its_period_of_64_seconds_and_in_the_next() {
    for (after_s, redeemed) in [(1, 1), (64, 1), (128, 0), (3 * 64, 0)] {
        let (mut network, ack) = cookie_on_its_way();
        network.run(Span::from_secs(after_s));
        flood(&mut network, 1000);
        network.run(Span::from_millis(20));
        assert_eq!(redeemed_after(&mut network, [ack]), redeemed, "after {after_s} s");
    }
}

#[test]
fn cookies_are_sent_within_the_budget() {
    let mut network = Network::with_limits(2, Limits { replies_per_s: 10, ..Limits::default() });
    network.host(2).listen(config(), 4).expect("free");
    flood(&mut network, 500);
    network.run(Span::from_millis(20));
    let counters = *network.host(2).counters();
    assert_eq!((counters.cookies_sent, counters.unanswered), (10, 486));
}

/// Strangers occupy the backlog of 2. Three hosts get cookies before any of them returns its cookie,
/// and return them 5 ms apart.
fn three_cookies(connections: usize) -> (Network, [ConnectionId; 3]) {
    let mut network = Network::with_limits(4, Limits { connections, ..Limits::default() });
    network.host(2).listen(config(), 2).expect("free");
    flood(&mut network, 2);
    network.run(Span::from_millis(20));
    let clients = [1, 3, 4].map(|host| {
        let client = network.connect(host, 2);
        network.run(Span::from_millis(5));
        client
    });
    network.run(Span::from_millis(100));
    assert_eq!(network.host(2).counters().cookies_sent, 3);
    (network, clients)
}

#[test]
fn a_cookie_is_not_redeemed_while_the_accept_queue_is_full() {
    let (mut network, clients) = three_cookies(100);
    let counters = *network.host(2).counters();
    assert_eq!((counters.cookies_redeemed, counters.overflowed), (2, 1));
    assert_eq!(network.host(2).acceptable(), 2);
    // The data of the third client brings its cookie again.
    assert!(network.host(2).accept().is_some());
    let stream = network.host(4).stream_mut(clients[2]).expect("there");
    assert_eq!(stream.write(b"hello"), Ok(5));
    network.run(Span::from_secs(4));
    assert_eq!(network.host(2).counters().cookies_redeemed, 3);
}

#[test]
fn a_cookie_is_not_redeemed_beyond_the_limit_of_connections() {
    let (mut network, _) = three_cookies(3);
    let counters = *network.host(2).counters();
    assert_eq!((counters.cookies_redeemed, counters.overflowed), (1, 2));
    assert_eq!(network.host(2).len(), 3);
}

/// An attacker can guess cookies only while the listener sends some.
#[test]
fn without_a_flood_no_cookie_is_good() {
    let (mut network, ack) = cookie_on_its_way();
    // A right cookie, at a listener that has sent none.
    let host = network.host(2);
    host.stop_listening();
    host.listen(config(), 4).expect("free");
    assert_eq!(redeemed_after(&mut network, [ack]), 0);
}
