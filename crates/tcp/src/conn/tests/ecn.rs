//! RFC 3168 §6.1, and the differences of ns-2.

use super::script::{Script, plain, with_controller};
use crate::config::{AckPolicy, EcnEcho};
use crate::{Config, Profile};
use alloc::vec::Vec;
use windlass_base::Span;

fn ecn() -> Config {
    plain().with(|c| {
        c.ecn.enabled = true;
        c.window.initial = 8;
    })
}

/// Eight segments in flight of 30,000 bytes written.
fn flight(config: Config) -> Script {
    let config = config.with(|c| {
        c.window.initial = 8;
        c.ecn.enabled = true;
        c.recovery.limited_transmit = false;
    });
    let mut s = Script::established(config);
    s.write(30_000);
    assert_eq!(s.skip().len(), 8);
    s
}

fn ns2(controller: &str) -> Config {
    let controller = crate::cc::by_name(controller).expect("a controller of the crate");
    Profile::Ns2Reno.config(1000, controller).with(|c| {
        c.extensions.window_scaling = false;
        c.ecn.enabled = true;
    })
}

#[test]
fn data_is_ect_and_nothing_else() {
    let mut s = Script::connect(ecn());
    s.expect(&["SEW 0 mss 1000"]);
    s.recv("SE. 0 ack 1 mss 1000");
    s.expect(&[". 1 ack 1"]);
    s.write(1500);
    s.expect(&[". 1:1001 ack 1 ect0"]);
    s.recv("P. 1:101 ack 1001 ect0");
    s.expect(&["P. 1001:1501 ack 101 ect0"]);
    s.advance_ms(1000);
    s.expect(&["P. 1001:1501 ack 101"]);
    s.close();
    s.expect(&["F. 1501 ack 101"]);
    s.recv(". 101 ack 1502 win 0");
    s.recv("FP. 101:201 ack 1502");
    s.expect(&[". 1502 ack 202"]);
}

#[test]
fn a_zero_window_probe_is_not_ect() {
    let mut s = Script::established(ecn());
    s.recv(". 1 ack 1 win 0");
    s.write(1000);
    s.advance_ms(1000);
    s.expect(&[". 1:2 ack 1"]);
}

#[test]
fn rfc3168_ce_is_echoed_until_cwr() {
    let mut s = Script::established(ecn());
    s.recv(". 1:1001 ack 1 ect0");
    s.recv(". 1001:2001 ack 1 ce");
    s.recv(". 2001:3001 ack 1 ect0");
    s.expect(&[". 1 ack 1001", "E. 1 ack 2001", "E. 1 ack 3001"]);
    s.recv("W. 3001:4001 ack 1 ect0");
    s.expect(&[". 1 ack 4001"]);
    s.recv("W. 4001:5001 ack 1 ce");
    s.expect(&["E. 1 ack 5001"]);
    assert_eq!(s.connection.stats().ce_received, 2);
}

#[test]
fn the_echo_rides_on_data_too() {
    let mut s = Script::established(ecn());
    s.recv(". 1:1001 ack 1 ce");
    s.write(500);
    s.expect(&["E. 1 ack 1001", "PE. 1:501 ack 1001 ect0"]);
}

#[test]
fn hamann_1999_one_echo_for_each_ce() {
    let mut s = Script::established(ecn().with(|c| c.ecn.echo = EcnEcho::OncePerCe));
    s.recv(". 1:1001 ack 1 ce");
    s.recv(". 1001:2001 ack 1 ect0");
    s.recv(". 2001:3001 ack 1 ce");
    s.expect(&["E. 1 ack 1001", ". 1 ack 2001", "E. 1 ack 3001"]);
}

/// RFC 8257 §3.2: an ACK reports either marked or unmarked data, also where it is delayed.
#[test]
fn rfc8257_data_before_a_change_of_ce_is_acknowledged_with_the_old_state() {
    let delayed = AckPolicy::Delayed { max: Span::from_millis(200) };
    let mut s = Script::established(ecn().with(|c| {
        c.ecn.echo = EcnEcho::Dctcp;
        c.acks.policy = delayed;
    }));
    s.recv(". 1:1001 ack 1 ect0");
    s.expect_nothing();
    s.recv(". 1001:2001 ack 1 ce");
    s.expect(&[". 1 ack 1001", "E. 1 ack 2001"]);
    s.recv(". 2001:3001 ack 1 ce");
    s.expect_nothing();
    s.recv(". 3001:4001 ack 1 ce");
    s.expect(&["E. 1 ack 4001"]);
    s.recv("W. 4001:5001 ack 1 ce");
    s.expect_nothing();
    s.recv(". 5001:6001 ack 1 ect0");
    s.expect(&["E. 1 ack 5001", ". 1 ack 6001"]);
    // Nothing waits: the change is reported by one ACK.
    s.recv(". 6001:7001 ack 1 ce");
    s.expect(&["E. 1 ack 7001"]);
}

#[test]
fn ce_on_a_pure_ack_or_without_ecn_agreed_means_nothing() {
    let mut s = Script::established(ecn());
    s.recv(". 1 ack 1 ce");
    s.recv(". 1:1001 ack 1 ect0");
    s.expect(&[". 1 ack 1001"]);
    let mut s = Script::established(plain());
    s.recv(". 1:1001 ack 1 ce");
    s.expect(&[". 1 ack 1001"]);
    assert_eq!(s.connection.stats().ce_received, 0);
}

#[test]
fn an_echo_cuts_once_a_window_and_cwr_rides_on_the_next_new_data() {
    let mut s = flight(plain());
    s.recv("E. 1 ack 1001");
    s.expect_windows(4000, 4000);
    s.expect_nothing();
    for ack in [2001, 3001, 4001, 5001] {
        s.recv(&alloc::format!("E. 1 ack {ack}"));
    }
    s.expect_windows(4000, 4000);
    s.expect(&["W. 8001:9001 ack 1 ect0"]);
    s.recv("E. 1 ack 6001");
    s.expect(&[". 9001:10001 ack 1 ect0"]);
    // Up to here everything was in flight at the cut.
    s.recv("E. 1 ack 8001");
    s.expect_windows(4000, 4000);
    s.skip();
    s.recv("E. 1 ack 9001");
    assert_eq!(s.connection.stats().ecn_cuts, 2);
    s.expect_windows(2000, 2000);
    assert_eq!(s.connection.stats().ece_received, 8);
}

#[test]
fn an_ack_with_an_echo_does_not_open_the_window() {
    let mut s = flight(plain());
    s.recv("E. 1 ack 1001");
    s.recv("E. 1 ack 4001");
    s.expect_windows(4000, 4000);
    s.recv(". 1 ack 5001");
    s.expect_windows(4250, 4000);
}

/// RFC 3168 §6.1.2: the timer starts again, and a new packet waits for it. It is no timeout: nothing is sent again.
#[test]
fn an_echo_at_a_window_of_one_segment_waits_for_the_timer() {
    let mut s = Script::established(ecn().with(|c| c.window.initial = 1));
    s.write(10_000);
    s.expect(&[". 1:1001 ack 1 ect0"]);
    s.advance_ms(20);
    s.recv("E. 1 ack 1001");
    s.expect_windows(1000, 2000);
    s.advance_ms(900);
    s.expect_nothing();
    s.advance_ms(200);
    s.expect(&["W. 1001:2001 ack 1 ect0"]);
    assert_eq!(s.connection.stats().timeouts, 0);
    // Without an echo the window grows, and nothing waits.
    s.recv(". 1 ack 2001");
    s.expect(&[". 2001:3001 ack 1 ect0", ". 3001:4001 ack 1 ect0"]);
}

#[test]
fn an_echo_without_ecn_agreed_means_nothing() {
    let mut s = Script::established(plain());
    s.write(4000);
    s.recv("E. 1 ack 1001");
    s.expect_windows(5000, u64::MAX);
}

#[test]
fn rfc3168_cwr_and_ect_stay_off_retransmissions() {
    let mut s = flight(plain());
    s.recv_times(3, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
    s.recv_times(2, ". 1 ack 1");
    s.expect(&["W. 8001:9001 ack 1 ect0"]);
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
}

#[test]
fn ns2_puts_cwr_and_ect_on_retransmissions() {
    let mut s = flight(ns2("reno"));
    s.recv_times(3, ". 1 ack 1");
    s.expect(&["W. 1:1001 ack 1 ect0"]);
}

#[test]
fn cwr_waits_for_data_if_only_a_fin_is_left() {
    let mut s = Script::established(ecn());
    s.write(4000);
    s.recv("E. 1 ack 4001");
    s.skip();
    s.close();
    s.expect(&["F. 4001 ack 1"]);
}

#[test]
fn cwr_is_on_the_first_segment_of_a_run_alone() {
    let mut s = flight(plain());
    s.max_run = 44;
    s.recv("E. 1 ack 1001");
    s.recv(". 1 ack 8001");
    let run = s.skip()[0];
    let cwr = run.segments().filter(|segment| segment.flags.contains(crate::Flags::CWR)).count();
    assert_eq!((run.count > 1, cwr), (true, 1));
}

#[test]
fn ns2_without_a_handshake_ect_begins_with_the_first_ack() {
    let mut s = Script::without_handshake(ns2("reno").with(|c| c.window.initial = 2));
    s.write(10_000);
    s.expect(&[". 1:1001 ack 1", ". 1001:2001 ack 1"]);
    s.recv(". 1 ack 1001");
    s.expect(&[". 2001:3001 ack 1 ect0", ". 3001:4001 ack 1 ect0"]);
}

#[test]
fn a_loss_after_an_ecn_cut_in_the_same_window_is_repaired_without_a_second_cut() {
    for controller in ["reno", "newreno", "new-ecn"] {
        let mut s = flight(with_controller(controller));
        s.recv("E. 1 ack 1001");
        let windows = (s.connection.cwnd(), s.connection.ssthresh());
        s.skip();
        s.recv_times(3, ". 1 ack 1001");
        let again: Vec<u64> =
            s.skip().iter().filter(|r| r.retransmission).map(|r| r.stream_offset).collect();
        assert_eq!(again, [1000], "{controller}");
        assert_eq!((s.connection.cwnd(), s.connection.ssthresh()), windows, "{controller}");
        assert_eq!(s.connection.stats().fast_retransmits, 0);
    }
}

#[test]
fn after_an_ecn_cut_the_repair_covers_everything_sent_before_it_began() {
    let mut s = flight(with_controller("newreno"));
    s.recv("E. 1 ack 1001");
    s.recv(". 1 ack 6001");
    s.expect(&["W. 8001:9001 ack 1 ect0", ". 9001:10001 ack 1 ect0"]);
    s.recv_times(3, ". 1 ack 6001");
    s.skip();
    // Beyond the cut, not beyond the repair: a partial ACK.
    s.recv(". 1 ack 9001");
    assert!(s.skip().iter().any(|run| run.stream_offset == 9000 && run.retransmission));
    // Duplicates of the full ACK result from segments sent twice, not from a further loss.
    let end = s.connection.recovery.recovery_point;
    s.recv(&alloc::format!(". 1 ack {end}"));
    s.recv_times(3, &alloc::format!(". 1 ack {end}"));
    assert_eq!(s.connection.stats().fast_retransmits, 0);
}

#[test]
fn an_echo_on_the_ack_that_ends_a_recovery_sends_nothing_again() {
    let mut s = flight(with_controller("newreno"));
    s.recv_times(6, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1", "W. 8001:9001 ack 1 ect0", ". 9001:10001 ack 1 ect0"]);
    s.recv("E. 1 ack 9001");
    assert_eq!(s.connection.stats().retransmitted_segments, 1);
    assert_eq!(s.connection.stats().ecn_cuts, 1);
    s.recv(". 1 ack 10001");
    assert!(s.skip().iter().all(|run| !run.retransmission));
}

#[test]
fn rfc5681_a_timeout_after_an_ecn_cut_of_the_same_window_holds_ssthresh() {
    let mut s = flight(plain());
    s.recv("E. 1 ack 1001");
    s.expect_windows(4000, 4000);
    s.advance_ms(1000);
    s.expect_windows(1000, 4000);
}

#[test]
fn an_echo_after_a_timeout_of_the_same_window_cuts_again_only_under_ns2() {
    for (config, cuts) in [(with_controller("reno"), 0), (ns2("reno"), 1)] {
        let mut s = flight(config);
        s.advance_ms(10_000);
        assert!(s.connection.stats().timeouts > 0);
        s.recv("E. 1 ack 1001");
        assert_eq!(s.connection.stats().ecn_cuts, cuts);
    }
}

/// RFC 6675 §5.1. A repair by the scoreboard would treat all data that the timeout declared lost as
/// in flight, and send one segment per timeout.
#[test]
fn duplicates_after_a_timeout_and_a_cut_begin_no_fast_recovery() {
    let mut s = flight(plain().with(|c| {
        c.extensions.sack = true;
        c.ecn.cut_after_timeout = true;
    }));
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    s.recv("E. 1 ack 1001");
    assert_eq!(s.connection.stats().ecn_cuts, 1);
    s.skip();
    s.recv(". 1 ack 1001 sack 2001:3001");
    s.recv(". 1 ack 1001 sack 2001:4001");
    s.recv(". 1 ack 1001 sack 2001:5001");
    s.skip();
    s.recv(". 1 ack 5001");
    assert!(!s.skip().is_empty(), "waits for the timer");
    assert_eq!(s.connection.stats().timeouts, 1);
}

#[test]
fn an_echo_in_fast_recovery_does_not_cut_again() {
    let mut s = flight(with_controller("newreno"));
    s.recv_times(3, ". 1 ack 1");
    s.recv_times(3, "E. 1 ack 1");
    s.recv("E. 1 ack 3001");
    s.expect_windows(4000, 4000);
    assert_eq!(s.connection.stats().ecn_cuts, 0);
}

#[test]
fn after_an_ecn_cut_the_window_is_held_until_what_was_in_flight_is_acknowledged() {
    let mut s = flight(ecn().with(|c| c.ecn.hold_after_cut = true));
    s.recv("E. 1 ack 1001");
    s.expect_windows(4000, 4000);
    for ack in [2001, 3001, 4001, 5001, 6001, 7001, 8001] {
        s.recv(&alloc::format!(". 1 ack {ack}"));
        s.expect_windows(4000, 4000);
    }
    // In congestion avoidance: a segment for each window acknowledged.
    s.recv(". 1 ack 9001");
    s.expect_windows(4250, 4000);
}

#[test]
fn a_mark_on_a_segment_without_payload_is_not_echoed() {
    let mut s = Script::established(ecn());
    s.recv("F. 1 ack 1 ce");
    s.expect(&[". 1 ack 2"]);
}

#[test]
fn after_an_echo_only_a_timeout_of_the_same_flight_keeps_ssthresh() {
    for (all, ssthresh) in [(false, 4000), (true, 2000)] {
        let mut s = Script::established(plain().with(|c| {
            c.ecn.enabled = true;
            c.ecn.cut_after_timeout = false;
            c.window.initial = 8;
        }));
        s.write(20_000);
        s.recv("E. 1 ack 1001");
        s.expect_windows(4000, 4000);
        if all {
            // Exactly the flight that the echo belongs to.
            s.recv(". 1 ack 8001");
        }
        s.advance_ms(3000);
        assert!(s.connection.stats().timeouts > 0);
        assert_eq!(s.connection.ssthresh(), ssthresh, "{all}");
    }
}

/// The receiver repeats its echo until CWR arrives, which retransmissions do not carry.
#[test]
fn an_echo_of_before_a_timeout_does_not_stop_growth() {
    let mut s = flight(with_controller("reno"));
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    s.recv("E. 1 ack 1001");
    s.expect_windows(2000, 4000);
}

/// RFC 3168 §6.1.2: an ACK with an echo that reduces the window does not open it, not even the one
/// that ends the repair after a timeout.
#[test]
fn an_echo_that_cuts_after_a_timeout_opens_no_window() {
    for ack in [1001, 8001] {
        let mut s = flight(plain().with(|c| c.ecn.cut_after_timeout = true));
        s.advance_ms(1000);
        s.expect(&[". 1:1001 ack 1"]);
        let before = s.connection.cwnd();
        s.recv(&alloc::format!("E. 1 ack {ack}"));
        assert_eq!(s.connection.stats().ecn_cuts, 1);
        assert!(s.connection.cwnd() <= before, "{ack}: {}", s.connection.cwnd());
    }
}

/// RFC 8257 §3.3. A connection may get its controller after its beginning, as ToU's listeners do.
#[test]
fn dctcp_reduces_by_the_marked_share_also_where_it_came_later() {
    let dctcp = || crate::cc::by_name("dctcp").expect("a controller of the crate");
    let at_once = flight(plain().with(|c| c.congestion = dctcp()));
    let mut later = flight(plain());
    later.connection.set_congestion(dctcp());
    for mut s in [at_once, later] {
        for ack in [1001, 2001, 3001, 4001] {
            s.recv(&alloc::format!(". 1 ack {ack}"));
        }
        let alpha = s.connection.trace_value("alpha").expect("published");
        assert!(alpha < 1.0, "{alpha}");
        let before = s.connection.cwnd();
        s.recv("E. 1 ack 5001");
        let after = s.connection.cwnd();
        assert!(after < before && after > before / 2.0, "{before} to {after}");
    }
}
