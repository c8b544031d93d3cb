//! RFC 5682: two ACKs after a timeout show whether it was needless. The RTT of the handshake is 100
//! ms, the RTO is one second.

use super::script::{Script, plain};
use crate::Config;
use alloc::format;

fn frto() -> Config {
    plain().with(|c| c.recovery.frto = true)
}

fn with_sack() -> Config {
    frto().with(|c| c.extensions.sack = true)
}

/// Eight segments in flight of `written` bytes when the timer expires.
fn timeout(config: Config, written: u64) -> Script {
    let mut s = Script::established(config.with(|c| c.window.initial = 8));
    s.write(written);
    assert_eq!(s.skip().len(), 8);
    s.advance_ms(1000);
    assert_eq!(s.skip().first().map(|run| run.stream_offset), Some(0));
    s.expect_windows(1000, 4000);
    s
}

fn retransmitted(s: &Script) -> u64 {
    s.connection.stats().retransmitted_segments
}

fn undone(s: &Script) -> u64 {
    s.connection.stats().undone_cuts
}

const NEW: [&str; 2] = [". 8001:9001 ack 1", ". 9001:10001 ack 1"];

#[test]
fn rfc5682_two_acks_of_late_data_take_the_timeout_back() {
    for config in [frto(), with_sack()] {
        let mut s = timeout(config, 40_000);
        s.recv(". 1 ack 1001");
        s.expect(&NEW);
        s.recv(". 1 ack 2001");
        assert_eq!(undone(&s), 1);
        assert!(s.connection.cwnd() >= 8000.0 && s.connection.ssthresh() == u64::MAX);
        for end in 3..=10 {
            s.recv(&format!(". 1 ack {end}001"));
        }
        let sent = s.skip();
        assert!(sent.iter().all(|run| !run.retransmission), "{sent:?}");
        assert_eq!((retransmitted(&s), s.connection.stats().timeouts), (1, 1));
    }
}

#[test]
fn rfc5682_step_3a_a_duplicate_ack_shows_that_the_flight_is_lost() {
    let mut s = timeout(frto(), 40_000);
    s.recv(". 1 ack 1001");
    s.expect(&NEW);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    s.expect_windows(2000, 4000);
    s.recv(". 1 ack 3001");
    assert!(s.skip().iter().all(|run| run.retransmission));
    assert_eq!(undone(&s), 0);
}

#[test]
fn rfc5682_step_3a_with_sack_the_new_data_shows_it() {
    let mut s = timeout(with_sack(), 40_000);
    s.recv(". 1 ack 1001");
    s.expect(&NEW);
    s.recv(". 1 ack 1001 sack 8001:9001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    assert_eq!(undone(&s), 0);
}

#[test]
fn rfc5682_step_3b_with_sack_a_block_of_late_data_is_enough() {
    let mut s = timeout(with_sack(), 40_000);
    s.recv(". 1 ack 1001");
    s.expect(&NEW);
    s.recv(". 1 ack 1001 sack 2001:3001");
    assert_eq!(undone(&s), 1);
}

#[test]
fn rfc5682_step_2a_an_ack_of_everything_ends_frto() {
    let mut s = timeout(frto(), 40_000);
    s.recv(". 1 ack 8001");
    assert_eq!(undone(&s), 0);
    s.expect_windows(2000, 4000);
}

#[test]
fn rfc5682_step_2a_after_a_duplicate_ack_the_timeout_counts_as_genuine() {
    let mut s = timeout(frto(), 40_000);
    s.recv(". 1 ack 1");
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    s.recv(". 1 ack 2001");
    assert_eq!(undone(&s), 0);
}

#[test]
fn rfc5682_step_2b_without_new_data_everything_is_sent_again() {
    let mut s = timeout(frto(), 8000);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
}

#[test]
fn rfc5682_step_2b_nor_without_a_window_for_it() {
    let mut s = timeout(frto(), 40_000);
    s.recv(". 1 ack 1001 win 7000");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
}

#[test]
fn rfc5682_step_1_not_while_an_earlier_loss_is_repaired() {
    let mut s = Script::established(frto().with(|c| c.window.initial = 8));
    s.write(40_000);
    s.recv_times(3, ". 1 ack 1");
    s.advance_ms(1000);
    s.skip();
    assert_eq!(s.connection.stats().timeouts, 1);
    s.recv(". 1 ack 1001");
    assert!(s.skip().iter().all(|run| run.retransmission));
}

#[test]
fn frto_runs_after_a_second_timeout_of_the_same_segment_too() {
    let mut s = timeout(frto(), 40_000);
    s.advance_ms(2000);
    s.skip();
    s.recv(". 1 ack 1001");
    s.expect(&NEW);
    s.recv(". 1 ack 2001");
    assert!(s.connection.cwnd() >= 8000.0 && s.connection.ssthresh() == u64::MAX);
}

#[test]
fn a_timeout_without_a_second_ack_is_followed_by_a_genuine_one() {
    let mut s = timeout(frto(), 40_000);
    s.recv(". 1 ack 1001");
    s.expect(&NEW);
    s.advance_ms(2000);
    s.expect(&[". 1001:2001 ack 1"]);
    s.recv(". 1 ack 2001");
    assert!(s.skip().iter().all(|run| run.retransmission));
    assert_eq!((undone(&s), s.connection.stats().timeouts), (0, 2));
}

#[test]
fn an_ecn_echo_before_the_second_ack_ends_frto() {
    let mut s = timeout(frto().with(|c| c.ecn.enabled = true), 40_000);
    s.recv(". 1 ack 1001");
    assert_eq!(s.skip().len(), 2);
    s.recv("E. 1 ack 2001");
    let sent = s.skip();
    assert!(sent.iter().all(|run| run.retransmission) && !sent.is_empty(), "{sent:?}");
    assert_eq!(undone(&s), 0);
}

/// Found in the simulator: RACK treated the retransmission as delivered, and all data sent before
/// it as lost.
#[test]
fn late_data_is_not_lost_for_rack_either() {
    for timeouts in 1..=2 {
        let mut s = Script::established(with_sack().with(|c| {
            c.window.initial = 8;
            c.recovery.rack = true;
        }));
        s.write(40_000);
        s.advance_ms([1000, 3000][timeouts - 1]);
        assert_eq!(s.connection.stats().timeouts, timeouts as u64);
        s.advance_ms(700);
        s.skip();
        for end in 1..=8 {
            s.recv(&format!(". 1 ack {end}001"));
            s.advance_ms(5);
        }
        let sent = s.skip();
        assert!(sent.iter().all(|run| !run.retransmission), "{timeouts}: {sent:?}");
        assert_eq!(undone(&s), 1);
    }
}
