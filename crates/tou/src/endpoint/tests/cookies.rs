//! A full backlog and SYN cookies.

use super::network::{Network, Packet, address, config, pattern};
use crate::wire;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use windlass_base::{Ecn, Span};
use windlass_tcp::{Config, Flags, Options, Segment, SeqNumber, Timestamps};

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

/// Host 2 listens with a backlog of 4, of which strangers have taken all.
fn flooded(config: Config) -> Network {
    let mut network = Network::new(2);
    network.host(2).listen(config, 4).expect("free");
    flood(&mut network, 1000);
    network.run(Span::from_millis(20));
    network
}

#[test]
fn a_flood_takes_the_backlog_and_no_more() {
    let mut network = flooded(config());
    assert_eq!(network.host(2).len(), 4);
    assert_eq!(network.host(2).counters().cookies_sent, 996);
    // Those that took the backlog give up in the end.
    network.run(Span::from_secs(400));
    assert_eq!(network.host(2).len(), 0);
}

#[test]
fn a_connection_from_a_cookie_has_all_that_was_offered() {
    for (offered, ecn) in [(true, true), (true, false), (false, false)] {
        let with =
            Config { timestamps: offered, sack: offered, window_scaling: offered, ecn, ..config() };
        let mut network = flooded(Config { ecn: true, ..config() });
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
            // To the 64 ms that are not kept.
            assert!((20.0..=84.0).contains(&rtt), "{rtt}");
        }
        let data = pattern(300_000);
        assert!(network.transfer((1, client), (2, server), &data) == data);
        assert!(network.transfer((2, server), (1, client), &data) == data);
        // As large as was announced, once a probe has passed; without SACK none would be told.
        let mss = network.host(2).stream(server).expect("there").connection().mss();
        assert_eq!(mss, if offered { 1444 } else { 1184 });
    }
}

/// Neither from the backlog nor by a cookie, with all options, with one, and without any.
#[test]
fn no_answer_is_longer_than_what_it_answers() {
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
            network.host(2).handle_datagrams(now, &from, Ecn::NotEct, &syn[..len], len);
            let answer = network.host(2).poll_transmit(now, 1, &mut out).expect("an answer");
            assert!(answer.len <= len, "{options:?}: {} bytes for {len}", answer.len);
        }
        assert_eq!(network.host(2).counters().cookies_sent, 1);
    }
}

#[test]
fn a_guessed_or_old_cookie_makes_no_connection() {
    let mut network = flooded(config());
    let answers = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&answers);
    // The third segment of the handshake stays away.
    network.passes = Box::new(move |packet| {
        let goes_on = packet.segment().flags.contains(Flags::SYN);
        if !goes_on {
            seen.borrow_mut().push(packet.clone());
        }
        goes_on
    });
    let _ = network.connect(1, 2);
    network.run(Span::from_millis(100));
    network.passes = Box::new(|packet| packet.to == address(2));
    let ack = answers.borrow()[0].clone();
    let redeemed = |network: &mut Network| network.host(2).counters().cookies_redeemed;
    for ahead in 1..1000 {
        let mut guess = ack.clone();
        let mut segment = guess.segment();
        segment.ack = segment.ack.at(ahead);
        wire::emit(&segment, &mut guess.bytes);
        network.send(guess);
    }
    let elsewhere = Packet { from: address(9), ..ack.clone() };
    network.send(elsewhere);
    network.run(Span::from_millis(20));
    assert_eq!(redeemed(&mut network), 0);
    network.run(Span::from_secs(3 * 64));
    network.send(ack);
    network.run(Span::from_millis(20));
    assert_eq!(redeemed(&mut network), 0, "two periods later");
}

/// Whoever guesses does so while there are cookies, or not at all.
#[test]
fn without_a_flood_no_cookie_is_good() {
    let mut network = flooded(config());
    let answers = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&answers);
    network.passes = Box::new(move |packet| {
        seen.borrow_mut().push(packet.clone());
        packet.segment().flags.contains(Flags::SYN)
    });
    let _ = network.connect(1, 2);
    network.run(Span::from_millis(100));
    let is_ack = |packet: &&Packet| packet.segment().flags == Flags::ACK;
    let ack = answers.borrow().iter().find(is_ack).expect("the third segment").clone();
    // A right cookie, at a listener that has sent none.
    let host = network.host(2);
    host.stop_listening();
    host.listen(config(), 4).expect("free");
    let now = network.now;
    let (bytes, from) = (&ack.bytes, address(1));
    network.host(2).handle_datagrams(now, &from, Ecn::NotEct, bytes, bytes.len());
    assert_eq!(network.host(2).counters().cookies_redeemed, 0);
}
