//! RFC 9937: the window is reduced over a round trip. The RTT of the handshake is 100 ms.

use super::script::{Script, plain};
use crate::Config;
use alloc::format;

/// Twenty segments in flight of 90,000 bytes, for 100 ms.
fn flight(ecn: bool) -> Script {
    flight_of(config(ecn))
}

/// The same with ECN, and PRR after an echo as well.
fn ecn_flight() -> Script {
    flight_of(config(true).with(|c| {
        c.ecn.prr = true;
        c.ecn.hold_after_cut = true;
    }))
}

fn config(ecn: bool) -> Config {
    plain().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
        c.recovery.prr = true;
        c.ecn.enabled = ecn;
        c.window.initial = 20;
    })
}

fn flight_of(config: Config) -> Script {
    let mut s = Script::established(config);
    s.write(90_000);
    assert_eq!(s.skip().len(), 20);
    s.advance_ms(100);
    s
}

#[test]
fn in_fast_recovery_a_segment_goes_out_for_two_that_arrive() {
    let mut s = flight(false);
    // The first is lost; three duplicate ACKs show it.
    s.recv(". 1 ack 1 sack 1001:4001");
    assert!(s.skip().iter().any(|run| run.retransmission));
    s.expect_windows(10_000, 10_000);
    let mut sent = 0;
    for end in 5..=20 {
        s.recv(&format!(". 1 ack 1 sack 1001:{end}001"));
        let news = s.skip().len();
        assert!(news <= 1, "no burst");
        sent += news;
    }
    assert!((8..=9).contains(&sent), "{sent} for sixteen that arrived");
    s.recv(". 1 ack 20001");
    assert_eq!(s.connection.congestion_window_in_force(), 10_000);
    assert_eq!(s.connection.in_flight(), 10_000);
}

/// As Linux's state CWR: a segment goes out for two that arrive, until data sent after the echo is acknowledged.
#[test]
fn with_ecn_prr_the_window_comes_down_over_a_round_trip_after_an_echo() {
    let mut s = ecn_flight();
    let mut sent = 0;
    for end in 1..=20 {
        s.recv(&format!("E. 1 ack {end}001"));
        let news = s.skip().len();
        assert!(news <= 1, "no burst");
        sent += news;
    }
    assert_eq!((sent, s.connection.in_flight()), (10, 10_000));
    s.recv(". 1 ack 21001");
    assert_eq!(s.skip().len(), 1);
    assert_eq!(s.connection.congestion_window_in_force(), s.connection.cwnd() as u64);
}

#[test]
fn a_loss_after_an_echo_is_repaired_within_the_same_reduction() {
    let mut s = ecn_flight();
    s.recv("E. 1 ack 1001");
    s.recv("E. 1 ack 1001 sack 2001:5001");
    let runs = s.skip();
    assert!(runs.iter().any(|run| run.retransmission), "{runs:?}");
    s.expect_windows(10_000, 10_000);
    assert!(s.connection.congestion_window_in_force() > 14_000, "it is not cut at once");
}

#[test]
fn an_ecn_echo_still_cuts_at_once() {
    let mut s = flight(true);
    s.recv("E. 1 ack 1001");
    s.expect_nothing();
    assert_eq!(s.connection.congestion_window_in_force(), 10_000);
}

#[test]
fn after_heavy_losses_packets_are_conserved() {
    let mut s = flight(false);
    // Only the last three of twenty arrive.
    s.recv(". 1 ack 1 sack 17001:20001");
    let first = s.skip().len();
    assert!((1..=3).contains(&first), "{first} segments for three that left");
    s.advance_ms(100);
    s.recv(". 1 ack 1001 sack 17001:20001");
    let then = s.skip();
    assert_eq!(then.len(), 2, "slow start towards ssthresh: {then:?}");
}

#[test]
fn a_timeout_ends_it() {
    let mut s = flight(false);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.skip();
    s.advance_ms(1500);
    assert_eq!(s.connection.stats().timeouts, 1);
    assert_eq!(s.connection.congestion_window_in_force(), s.connection.cwnd() as u64);
}

#[test]
fn losses_that_the_reordering_timer_finds_cause_no_burst() {
    let mut s = flight(false);
    s.recv(". 1 ack 1 sack 19001:20001");
    s.expect(&[". 20001:21001 ack 1"]);
    // The nineteen segments before it are lost, and no ACK allows to send half a window.
    s.advance_ms(25);
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(10_000, 10_000);
    assert_eq!(s.connection.congestion_window_in_force(), 2000);
}

#[test]
fn rfc9937_only_an_ack_that_advances_adds_a_segment_below_the_target() {
    let mut s = flight(false);
    // Only the last three of twenty arrive, one by one.
    s.recv(". 1 ack 1 sack 17001:18001");
    s.recv(". 1 ack 1 sack 17001:19001");
    s.skip();
    s.advance_ms(25);
    assert!(s.skip().len() <= 2);
    s.recv(". 1 ack 1 sack 17001:20001");
    assert_eq!(s.skip().len(), 1, "one for the one that left the network");
}
