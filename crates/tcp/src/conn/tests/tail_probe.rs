//! RFC 8985 §7: tail loss probes. The RTT of the handshake is 100 ms.

use super::script::{Script, plain};
use crate::Config;
use alloc::format;

fn tlp() -> Config {
    plain().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
        c.recovery.tail_loss_probe = true;
        c.sending.nagle = false;
    })
}

/// `segments` in flight, of `written` bytes.
fn flight(segments: u32, written: u64) -> Script {
    let mut s = Script::established(tlp().with(|c| c.window.initial = segments));
    s.write(written);
    assert_eq!(s.skip().len(), segments as usize);
    s
}

#[test]
fn the_last_segment_goes_out_again_after_two_round_trips() {
    let mut s = flight(3, 3000);
    assert_eq!(s.next_timer_ms(), Some(200));
    s.advance_ms(200);
    s.expect(&["P. 2001:3001 ack 1"]);
    assert_eq!(s.connection.stats().tail_probes, 1);
    // One probe; then the retransmission timer, which starts at the probe.
    assert_eq!(s.next_timer_ms(), Some(1000));
}

#[test]
fn new_data_goes_out_in_its_place_whatever_cwnd() {
    let mut s = flight(3, 5000);
    s.advance_ms(200);
    s.expect(&[". 3001:4001 ack 1"]);
}

#[test]
fn a_probe_sends_no_data_beyond_the_peers_window() {
    let mut s = Script::established(tlp().with(|c| c.window.initial = 3));
    s.recv(". 1 ack 1 win 3000");
    s.write(5000);
    s.skip();
    s.advance_ms(200);
    s.expect(&[". 2001:3001 ack 1"]);
}

#[test]
fn a_single_segment_gets_time_for_a_delayed_ack() {
    let rto = crate::config::RtoConfig { min: crate::Span::from_millis(200), ..tlp().timers.rto };
    let mut s = Script::established(tlp().with(|c| c.timers.rto = rto));
    s.write(1000);
    s.skip();
    // The RTO, SRTT + 4 RTTVAR, is 300 ms and comes before the PTO, 2 SRTT + 200 ms. A probe is
    // sent at the RTO then.
    s.advance_ms(300);
    s.expect(&["P. 1:1001 ack 1"]);
    assert_eq!((s.connection.stats().tail_probes, s.connection.stats().timeouts), (1, 0));
}

#[test]
fn a_loss_that_a_probe_reveals_is_repaired_without_a_timeout() {
    let mut s = flight(5, 5000);
    s.recv(". 1 ack 2001");
    s.skip();
    // 2001:5001 are lost.
    s.advance_ms(200);
    s.expect(&["P. 4001:5001 ack 1"]);
    s.advance_ms(100);
    s.recv(". 1 ack 2001 sack 4001:5001");
    s.advance_ms(25);
    let mut sent = s.skip();
    s.recv(". 1 ack 3001 sack 4001:5001");
    sent.extend(s.skip());
    let offsets: alloc::vec::Vec<u64> = sent.iter().map(|run| run.stream_offset).collect();
    assert_eq!(offsets, [2000, 3000]);
    assert_eq!((s.connection.stats().timeouts, s.connection.stats().fast_retransmits), (0, 1));
}

#[test]
fn a_probe_that_repaired_the_only_loss_cuts_the_window() {
    let mut s = flight(4, 4000);
    s.recv(". 1 ack 3001");
    s.advance_ms(1000);
    s.expect(&["P. 3001:4001 ack 1"]);
    s.recv(". 1 ack 4001");
    let before = s.connection.cwnd();
    s.write(1000);
    s.skip();
    s.recv(". 1 ack 5001");
    assert!(s.connection.cwnd() < before, "beyond the probe, and no duplicate was reported");
    assert_eq!(s.connection.stats().timeouts, 0);
}

/// Found by `windlass-chaos`: a debug and a release build differed.
#[test]
fn data_that_repeats_the_ack_does_not_end_the_probe() {
    let mut s = flight(4, 4000);
    s.recv(". 1 ack 3001");
    s.advance_ms(1000);
    s.skip();
    s.recv(". 1 ack 4001");
    s.recv(". 1:1001 ack 4001");
    let before = s.connection.cwnd();
    s.write(1000);
    s.recv(". 1001 ack 5001");
    assert!(s.connection.cwnd() < before, "it repaired a loss");
}

#[test]
fn a_probe_that_was_not_needed_cuts_nothing() {
    for answer in [". 1 ack 4001 sack 3001:4001", ". 1 ack 4001"] {
        let mut s = flight(4, 4000);
        s.advance_ms(200);
        s.skip();
        s.recv(". 1 ack 4001");
        s.recv(answer);
        let before = s.connection.cwnd();
        s.write(1000);
        s.recv(". 1 ack 5001");
        assert!(s.connection.cwnd() >= before, "{answer}");
    }
}

#[test]
fn no_probe_is_sent_while_sack_shows_a_hole() {
    let mut s = flight(4, 4000);
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.advance_ms(900);
    assert_eq!(s.connection.stats().tail_probes, 0);
}

#[test]
fn a_lost_fin_is_probed_for() {
    let mut s = Script::established(tlp().with(|c| c.window.initial = 3));
    s.connection.write(3000).expect("open");
    s.close();
    s.skip();
    s.recv(". 1 ack 2001");
    s.advance_ms(1000);
    s.expect(&["FP. 2001:3001 ack 1"]);
    assert_eq!(s.connection.stats().timeouts, 0);
}

#[test]
fn an_ack_of_no_new_data_does_not_move_the_probe() {
    let mut s = flight(3, 3000);
    s.advance_ms(100);
    s.recv(". 1 ack 1 win 60000");
    assert_eq!(s.next_timer_ms(), Some(100));
}

#[test]
fn a_dsack_of_a_probe_does_not_widen_the_reordering_window() {
    // The end of the duplicate, and the reordering window in milliseconds.
    for (duplicate, expected_ms) in [("9001:10001", 25), ("8001:9001", 50)] {
        let mut s = flight(10, 10_000);
        s.advance_ms(100);
        s.recv(". 1 ack 1 sack 1001:2001");
        s.recv(". 1 ack 2001");
        s.advance_ms(500);
        s.expect(&["P. 9001:10001 ack 1"]);
        s.recv(&format!(". 1 ack 10001 sack {duplicate}"));
        s.write(40_000);
        s.advance_ms(100);
        s.recv(". 1 ack 10001 sack 11001:12001");
        assert_eq!(s.next_timer_ms(), Some(expected_ms), "{duplicate}");
    }
}

#[test]
fn acks_without_a_dsack_after_a_probe_do_not_widen_the_reordering_window() {
    let mut s = flight(10, 12_000);
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.recv(". 1 ack 2001");
    s.skip();
    s.advance_ms(500);
    assert_eq!(s.connection.stats().tail_probes, 1);
    s.recv_all(&[". 1 ack 3001", ". 1 ack 3001 sack 4001:5001"]);
    assert_eq!(s.next_timer_ms(), Some(25));
}
