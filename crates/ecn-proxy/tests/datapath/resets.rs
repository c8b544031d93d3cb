//! After a reset, data under way never show the served host a codepoint.

use crate::frames::{ACK, CWR, ECE, ON, RST, SYN, SYN_ACK, Shape, Tcp, packet, program, syn};
use crate::skip;
use crate::testbed::{ProxyMachine, Testbed};
use nix::sys::socket::{setsockopt, sockopt::Linger};
use std::time::Duration;
use windlass_ecn_proxy::datapath::{Datapath, Settings, Timeouts};
use windlass_testbed::wait_until;

/// One connection's frames through the programs.
struct Frames {
    datapath: Datapath,
    shape: Shape,
}

impl Frames {
    /// The codepoint and the flags with which a packet goes on.
    fn pass(&self, from_host: bool, codepoint: u8, tcp: &Tcp) -> (u8, u8) {
        let frame = self.shape.frame(from_host, codepoint, tcp);
        let (action, out) = self.datapath.run_frame(program(from_host), &frame).expect("runs");
        assert_eq!(action, ON, "{tcp:?}");
        (self.shape.codepoint(&out), self.shape.tcp_flags(&out))
    }
}

/// A served connection that one of the hosts has reset.
fn reset_connection(ipv6: bool, by_host: bool) -> Frames {
    let datapath = Datapath::load(&Settings::default()).unwrap_or_else(|error| panic!("{error}"));
    let frames = Frames { datapath, shape: Shape::plain(ipv6) };
    frames.pass(true, 0, &syn());
    frames.pass(false, 0, &Tcp { seq: 5000, ack: 1001, flags: SYN_ACK | ECE, ..syn() });
    frames.pass(true, 0, &packet(1001, 5001, ACK, 0));
    assert_eq!(frames.pass(false, 2, &packet(5001, 1001, ACK, 100)).0, 0, "served");
    match by_host {
        true => frames.pass(true, 0, &packet(1001, 5101, RST | ACK, 0)),
        false => frames.pass(false, 0, &packet(5101, 1001, RST | ACK, 0)),
    };
    assert_eq!(frames.datapath.flow_count().expect("readable"), 0);
    assert_eq!(frames.datapath.flows().expect("readable"), [], "what is reset is no connection");
    frames
}

#[test]
fn data_behind_a_reset_keep_no_codepoint() {
    if skip() {
        return;
    }
    for (ipv6, by_host) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut frames = reset_connection(ipv6, by_host);
        for (at, codepoint) in [(0, 2), (1, 3), (2, 1), (3, 2)] {
            let data = packet(5101 + 100 * at, 1001, ACK, 100);
            let (after, _) = frames.pass(false, codepoint, &data);
            assert_eq!(after, 0, "IPv6 {ipv6}, reset by the served host {by_host}: {data:?}");
            assert_eq!(frames.datapath.flows().expect("readable"), [], "nor do they make it one");
        }
        let now = Timeouts { idle: Duration::from_secs(3600), closing: Duration::ZERO };
        frames.datapath.expire(&now).expect("works");
        assert_eq!(frames.datapath.flows().expect("readable"), []);
    }
}

#[test]
fn a_connection_after_a_reset_is_negotiated_anew() {
    if skip() {
        return;
    }
    let asks = Tcp { seq: 9000, flags: SYN | ECE | CWR, ..syn() };
    let agrees = Tcp { seq: 7000, ack: 9001, flags: SYN_ACK | ECE, ..syn() };
    // The served host has ECN by itself now: nothing is the proxy's.
    let frames = reset_connection(false, true);
    assert_eq!(frames.pass(true, 0, &asks), (0, asks.flags));
    assert_eq!(frames.pass(false, 0, &agrees), (0, agrees.flags));
    assert_eq!(frames.pass(true, 0, &packet(9001, 7001, ACK, 0)).1, ACK);
    assert_eq!(frames.pass(false, 3, &packet(7001, 9001, ACK | CWR, 100)), (3, ACK | CWR));
    // It has none: the proxy serves.
    let frames = reset_connection(false, true);
    assert_eq!(frames.pass(true, 0, &Tcp { flags: SYN, ..asks }).1, SYN | ECE | CWR);
    assert_eq!(frames.pass(false, 0, &agrees).1, SYN_ACK);
    assert_eq!(frames.pass(true, 0, &packet(9001, 7001, ACK, 100)).0, 2);
    // The lists and draining decide on it as on any other.
    let mut frames = reset_connection(false, true);
    frames.datapath.set_draining(true).expect("written");
    assert_eq!(frames.pass(true, 0, &syn()).1, SYN);
    assert_eq!(frames.pass(false, 2, &packet(5101, 1001, ACK, 100)).0, 2, "unknown");
}

/// The served host ends a download in the middle: as much as a window is under way then.
#[test]
fn a_download_that_the_served_host_resets_shows_it_no_codepoint() {
    if skip() {
        return;
    }
    for ipv6 in [false, true] {
        let bed = Testbed::new(ProxyMachine::Router, true, &Settings::default());
        let connection = bed.connect(ipv6, true, "cubic");
        let ended = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&connection.host, Linger, &ended).expect("a socket");
        let resets = bed.host_counter("OutRsts");
        connection.reset_by_host_during_a_download(300_000);
        // The answers to data that came behind the reset.
        wait_until("data arrive", || bed.host_counter("OutRsts") > resets + 1);
        let (with, without) = bed.codepoints(true, ipv6);
        assert!(with == 0 && without > 100, "{with} with a codepoint, {without} without");
    }
}

/// RFC 9293 section 3.10.7.4. A reset ends a handshake, whoever opened it and however far it got.
#[test]
fn no_handshake_outlives_its_reset() {
    if skip() {
        return;
    }
    let agrees = || Tcp { seq: 5000, ack: 1001, flags: SYN_ACK | ECE, ..syn() };
    let asks = || Tcp { seq: 5000, ack: 0, flags: SYN | ECE | CWR, ..syn() };
    let accepts = || Tcp { seq: 1000, ack: 5001, flags: SYN_ACK, ..syn() };
    let far_ack = |flags| packet(5001, 1001, flags, 0);
    let host_ack = |flags| packet(1001, 5001, flags, 0);
    // The SYN and what follows it, each with whether the served host sent it; the last is the reset.
    let lives = [
        vec![(true, syn()), (true, packet(1001, 0, RST, 0))],
        vec![(true, syn()), (false, packet(0, 1001, RST | ACK, 0))],
        vec![(true, syn()), (false, agrees()), (true, packet(1001, 0, RST, 0))],
        vec![(true, syn()), (false, agrees()), (false, far_ack(RST | ACK))],
        vec![(false, asks()), (false, packet(5001, 0, RST, 0))],
        vec![(false, asks()), (true, packet(0, 5001, RST | ACK, 0))],
        vec![(false, asks()), (true, accepts()), (true, host_ack(RST | ACK))],
        vec![(false, asks()), (true, accepts()), (false, packet(5001, 0, RST, 0))],
    ];
    for ipv6 in [false, true] {
        let datapath = Datapath::load(&Settings::default());
        let datapath = datapath.unwrap_or_else(|error| panic!("{error}"));
        let mut frames = Frames { datapath, shape: Shape::plain(ipv6) };
        for (number, life) in lives.iter().enumerate() {
            // Addresses of its own.
            frames.shape.network = number as u8;
            let listed = || frames.datapath.flows().expect("readable").len();
            for (at, (from_host, tcp)) in life.iter().enumerate() {
                frames.pass(*from_host, 0, tcp);
                let expected = usize::from(at + 1 < life.len());
                assert_eq!(listed(), expected, "IPv6 {ipv6}, life {number}, packet {at}");
            }
        }
    }
}

/// The ends of real connections that have data queued: as after `iperf3 -t` or a cancelled `curl`.
#[test]
fn a_connection_that_is_aborted_with_data_queued_is_gone_at_once() {
    if skip() {
        return;
    }
    let bed = Testbed::new(ProxyMachine::Router, true, &Settings::default());
    for ipv6 in [false, true] {
        for (upload, by_host) in [(true, true), (true, false), (false, true), (false, false)] {
            let connection = bed.connect(ipv6, true, "cubic");
            connection.abort_while_sending(upload, by_host, 300_000);
            let flows = || bed.datapath.flows().expect("readable");
            wait_until("no connection is left", || flows().is_empty());
        }
    }
}
