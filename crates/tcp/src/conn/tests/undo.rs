//! Unnecessary reductions are undone: Eifel (RFC 3522, RFC 4015), DSACK (RFC 3708). The RTT of the
//! handshake is 100 ms. Timestamps are the milliseconds of the clock: 10100 when the flight is
//! sent.

use super::script::{Script, plain, with_controller};
use crate::Config;
use alloc::format;

/// Segments are of 988 bytes with timestamps.
fn eifel() -> Config {
    plain().with(|c| {
        c.recovery.undo = true;
        c.extensions.timestamps = true;
    })
}

/// With SACK, and without timestamps.
fn dsack() -> Config {
    plain().with(|c| {
        c.recovery.undo = true;
        c.extensions.sack = true;
        c.recovery.rack = true;
    })
}

/// Eight segments in flight of 40,000 bytes, for 100 ms.
fn flight(config: Config) -> Script {
    let mut s = Script::established(config.with(|c| {
        c.window.initial = 8;
        c.recovery.limited_transmit = false;
        c.growth.cwnd_validation = false;
    }));
    s.write(40_000);
    assert_eq!(s.skip().len(), 8);
    s.advance_ms(100);
    s
}

fn undone(s: &Script) -> u64 {
    s.connection.stats().undone_cuts
}

fn retransmitted(s: &Script) -> u64 {
    s.connection.stats().retransmitted_segments
}

/// The state after three duplicate ACKs: the first segment was retransmitted at 10200.
fn fast_retransmit(s: &mut Script) {
    s.recv_times(3, ". 1 ack 1 TS 20:10100");
    s.expect(&[". 1:989 ack 1"]);
    s.expect_windows(3952, 3952);
    s.advance_ms(10);
}

#[test]
fn rfc3522_an_ack_of_the_original_takes_back_a_fast_retransmit() {
    let mut s = flight(eifel());
    fast_retransmit(&mut s);
    s.recv(". 1 ack 3953 TS 21:10100");
    assert_eq!(undone(&s), 1);
    assert!(s.connection.cwnd() >= 7904.0, "cwnd {}", s.connection.cwnd());
    assert_eq!(s.connection.ssthresh(), u64::MAX);
    let sent = s.skip();
    assert!(sent.len() >= 4 && sent.iter().all(|run| !run.retransmission), "{sent:?}");
}

#[test]
fn rfc3522_an_ack_of_the_retransmission_takes_nothing_back() {
    let mut s = flight(eifel());
    fast_retransmit(&mut s);
    s.recv(". 1 ack 7905 TS 21:10200");
    s.expect_windows(3952, 3952);
    assert_eq!(undone(&s), 0);
}

#[test]
fn without_the_option_no_reduction_is_taken_back() {
    let mut s = flight(eifel().with(|c| c.recovery.undo = false));
    fast_retransmit(&mut s);
    s.recv(". 1 ack 7905 TS 21:10100");
    s.expect_windows(3952, 3952);
}

#[test]
fn rfc4015_after_a_needless_timeout_nothing_more_is_sent_again() {
    let mut s = flight(eifel());
    s.advance_ms(900);
    s.expect(&[". 1:989 ack 1"]);
    s.expect_windows(988, 3952);
    for end in 1..=8 {
        s.advance_ms(10);
        s.recv(&format!(". 1 ack {} TS 21:10100", end * 988 + 1));
    }
    let sent = s.skip();
    assert!(sent.iter().all(|run| !run.retransmission), "{sent:?}");
    assert_eq!((undone(&s), s.connection.stats().timeouts), (1, 1));
    assert!(s.connection.cwnd() >= 7904.0 && s.connection.ssthresh() == u64::MAX);
}

#[test]
fn rfc4015_a_genuine_timeout_is_not_taken_back() {
    let mut s = flight(eifel());
    s.advance_ms(900);
    s.skip();
    s.recv(". 1 ack 989 TS 21:11100");
    let sent = s.skip();
    assert!(sent.iter().all(|run| run.retransmission) && !sent.is_empty(), "{sent:?}");
    assert_eq!((undone(&s), s.connection.ssthresh()), (0, 3952));
}

#[test]
fn two_needless_timeouts_are_both_taken_back() {
    let mut s = flight(eifel());
    s.advance_ms(2900);
    assert_eq!(s.connection.stats().timeouts, 2);
    s.recv(". 1 ack 989 TS 21:10100");
    assert!(s.connection.cwnd() >= 7904.0 && s.connection.ssthresh() == u64::MAX);
}

#[test]
fn a_loss_behind_a_needless_timeout_is_found_by_its_time() {
    let mut s = flight(eifel().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
    }));
    s.advance_ms(900);
    s.skip();
    s.recv(". 1 ack 989 TS 21:10100");
    assert_eq!(undone(&s), 1);
    s.skip();
    // 989:1977 is lost.
    s.recv(". 1 ack 989 TS 22:10100 sack 1977:4941");
    s.advance_ms(50);
    let sent = s.skip();
    assert!(sent.iter().any(|run| run.stream_offset == 988), "{sent:?}");
    let stats = s.connection.stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits), (1, 1));
    assert!(s.connection.ssthresh() < u64::MAX, "that one is cut for");
}

#[test]
fn one_late_segment_proves_nothing_about_another_hole() {
    let mut s = flight(eifel().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
    }));
    s.recv(". 1 ack 1 TS 20:10100 sack 989:2965,3953:7905");
    s.advance_ms(30);
    assert_eq!(retransmitted(&s), 2);
    // The first segment was late. Of the second, only the retransmission is known.
    s.recv(". 1 ack 2965 TS 21:10100 sack 3953:7905");
    assert_eq!(undone(&s), 0);
    s.recv(". 1 ack 7905 TS 22:10100");
    assert_eq!(undone(&s), 1, "so was the second");
}

#[test]
fn a_hole_that_remains_is_repaired_without_another_reduction() {
    let mut s = flight(eifel().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
    }));
    s.recv(". 1 ack 1 TS 20:10100 sack 989:1977,2965:4941");
    assert_eq!(retransmitted(&s), 1, "and three more are in flight");
    s.advance_ms(10);
    // The first segment was late. The third is still missing.
    s.recv(". 1 ack 1977 TS 21:10100 sack 2965:4941");
    assert_eq!(undone(&s), 1);
    assert!(s.skip().iter().any(|run| run.stream_offset == 1976), "the repair goes on");
    assert_eq!(s.connection.ssthresh(), u64::MAX, "with the old window");
    assert_eq!(s.connection.stats().fast_retransmits, 1);
}

/// The state after a retransmission of the first segment and an ACK of everything.
fn repaired(config: Config) -> Script {
    let mut s = flight(config);
    s.recv(". 1 ack 1 sack 1001:4001");
    assert_eq!(retransmitted(&s), 1);
    s.recv(". 1 ack 8001");
    s.skip();
    s.expect_windows(4000, 4000);
    s
}

#[test]
fn rfc3708_dsacks_of_all_retransmissions_take_the_reduction_back() {
    let mut s = repaired(dsack());
    s.recv(". 1 ack 8001 sack 1:1001");
    assert_eq!(undone(&s), 1);
    assert!(s.connection.cwnd() >= 8000.0 && s.connection.ssthresh() == u64::MAX);
}

#[test]
fn rfc3708_a_dsack_of_one_of_two_takes_nothing_back() {
    let mut s = flight(dsack());
    s.recv(". 1 ack 1 sack 1001:2001,3001:8001");
    s.advance_ms(30);
    assert_eq!(retransmitted(&s), 2);
    s.recv(". 1 ack 8001");
    s.recv(". 1 ack 8001 sack 1:1001");
    assert_eq!(undone(&s), 0);
    s.recv(". 1 ack 8001 sack 2001:3001");
    assert_eq!(undone(&s), 1);
}

#[test]
fn after_a_path_probe_dsacks_take_nothing_back() {
    let mut s = repaired(dsack());
    assert!(s.connection.path_probe(s.now, 1000).is_some());
    s.recv(". 1 ack 8001 sack 1:1001");
    assert_eq!(undone(&s), 0);
}

#[test]
fn a_cut_taken_back_keeps_the_size_of_a_segment_that_changed_since() {
    let mut s = repaired(dsack());
    s.connection.set_mss(500);
    s.recv(". 1 ack 8001 sack 1:1001");
    assert_eq!(undone(&s), 1);
    s.advance_ms(2000);
    assert_eq!(s.connection.cwnd(), 500.0, "a segment after a timeout");
}

#[test]
fn a_dsack_a_round_trip_too_late_is_ignored() {
    let mut s = repaired(dsack());
    let sent = 8001 + s.connection.in_flight();
    s.recv(&format!(". 1 ack {sent}"));
    let sent = sent + s.connection.in_flight();
    s.recv(&format!(". 1 ack {sent}"));
    s.recv(&format!(". 1 ack {sent} sack 1:1001"));
    assert_eq!(undone(&s), 0);
}

#[test]
fn rfc4015_an_ecn_echo_leaves_the_window_cut() {
    let mut s = flight(eifel().with(|c| c.ecn.enabled = true));
    s.recv_times(3, ". 1 ack 1 TS 20:10100");
    s.skip();
    s.recv("E. 1 ack 3953 TS 21:10100");
    assert_eq!((undone(&s), s.connection.ssthresh()), (0, 3952));
}

#[test]
fn no_cwr_is_sent_for_a_reduction_taken_back() {
    let mut s = flight(eifel().with(|c| c.ecn.enabled = true));
    s.recv_times(3, ". 1 ack 1 TS 20:10100");
    s.skip();
    s.recv(". 1 ack 3953 TS 21:10100");
    let sent = s.skip();
    assert!(sent.iter().all(|run| !run.first.flags.contains(crate::Flags::CWR)), "{sent:?}");
    // The next echo reduces the window, although it belongs to the same flight.
    s.recv("E. 1 ack 4941 TS 22:10100");
    assert_eq!(s.connection.stats().ecn_cuts, 1);
}

#[test]
fn every_controller_gets_its_window_back() {
    for name in crate::cc::tests::window_keepers() {
        let config = with_controller(name).with(|c| {
            c.recovery.undo = true;
            c.extensions.timestamps = true;
        });
        let mut s = flight(config);
        let before =
            (s.connection.cwnd(), s.connection.ssthresh(), s.connection.trace_value("slope"));
        s.recv_times(3, ". 1 ack 1 TS 20:10100");
        s.skip();
        s.advance_ms(10);
        assert!(s.connection.cwnd() < before.0, "{name}");
        s.recv(". 1 ack 989 TS 21:10100");
        let sent = s.skip();
        assert!(sent.iter().all(|run| !run.retransmission), "{name}: {sent:?}");
        let after =
            (s.connection.cwnd(), s.connection.ssthresh(), s.connection.trace_value("slope"));
        assert_eq!((after.1, after.2), (before.1, before.2), "{name}");
        assert!((before.0..=before.0 + 988.0).contains(&after.0), "{name}: {after:?}");
    }
}

/// 25 days are more than 2^31 ms, so that the echo of the last retransmission looks older than the
/// first one.
#[test]
fn rfc3522_an_outage_of_25_days_does_not_make_the_retransmission_an_original() {
    let mut s = flight(eifel().with(|c| c.timers.max_retries = u32::MAX));
    for _ in 0..25 * 24 {
        s.advance_ms(3_600_000);
        s.skip();
    }
    let echo = 10_200 + 25 * 24 * 3600 * 1000_u64;
    s.advance_ms(10);
    s.recv(&format!(". 1 ack 989 TS {}:{echo}", u32::MAX - 5));
    assert_eq!(undone(&s), 0);
}
