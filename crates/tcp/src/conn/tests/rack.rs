//! RFC 8985 §6: loss detection by time. The RTT of the handshake is 100 ms.

use super::script::{Script, plain};
use crate::Config;
use alloc::format;

fn rack() -> Config {
    plain().with(|c| {
        c.extensions.sack = true;
        c.recovery.rack = true;
    })
}

/// `segments` in flight, of `written` bytes, for 100 ms.
fn flight(segments: u32, written: u64) -> Script {
    flight_of(rack().with(|c| c.window.initial = segments), written)
}

fn flight_of(config: Config, written: u64) -> Script {
    let segments = config.window.initial;
    let mut s = Script::established(config);
    s.write(written);
    assert_eq!(s.skip().len(), segments as usize);
    s.advance_ms(100);
    s
}

#[test]
fn the_first_of_two_is_lost_a_quarter_of_the_round_trip_after_the_second_arrived() {
    let mut s = flight(2, 2000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.expect_nothing();
    assert_eq!(s.next_timer_ms(), Some(25));
    s.advance_ms(24);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&[". 1:1001 ack 1"]);
    assert_eq!(s.connection.stats().fast_retransmits, 1);
    s.recv(". 1 ack 2001");
    assert_eq!(s.connection.stats().timeouts, 0);
}

#[test]
fn reordered_segments_are_not_retransmitted() {
    let mut s = flight(2, 2000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.advance_ms(10);
    s.recv(". 1 ack 2001");
    s.advance_ms(2000);
    s.expect_nothing();
    assert_eq!(s.connection.stats().fast_retransmits, 0);
}

#[test]
fn three_later_deliveries_show_a_loss_without_delay() {
    let mut s = flight(5, 5000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.recv(". 1 ack 1 sack 1001:3001");
    s.expect_nothing();
    s.recv(". 1 ack 1 sack 1001:4001");
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(2500, 2500);
}

#[test]
fn after_reordering_three_later_deliveries_are_not_enough() {
    let mut s = flight(10, 12_000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.recv(". 1 ack 2001");
    s.skip();
    s.recv(". 1 ack 2001 sack 3001:7001");
    s.expect_nothing();
    assert_eq!(s.connection.stats().fast_retransmits, 0);
    s.advance_ms(25);
    s.expect(&[". 2001:3001 ack 1"]);
}

#[test]
fn one_ack_for_both_sides_of_a_hole_shows_no_reordering() {
    let mut s = flight(5, 5000);
    // The peer had delayed the ACK of 1:1001 when 2001:3001 arrived.
    s.recv(". 1 ack 1001 sack 2001:3001");
    s.recv(". 1 ack 1001 sack 2001:4001");
    s.expect_nothing();
    s.recv(". 1 ack 1001 sack 2001:5001");
    s.expect(&[". 1001:2001 ack 1"]);
}

#[test]
fn the_timer_waits_for_a_retransmission_as_for_an_original() {
    let mut s = flight(5, 20_000);
    s.recv(". 1 ack 1 sack 1001:4001");
    assert!(s.skip().first().is_some_and(|run| run.retransmission));
    let rto_ms = s.connection.rto().as_nanos() / 1_000_000;
    s.advance_ms(90);
    assert_eq!(s.next_timer_ms(), Some(rto_ms - 90), "since it went out");
    // Sent before it.
    s.recv(". 1 ack 1 sack 1001:5001");
    s.skip();
    let rto_ms = s.connection.rto().as_nanos() / 1_000_000;
    assert_eq!(s.next_timer_ms(), Some(rto_ms));
    s.advance_ms(rto_ms);
    assert_eq!(s.connection.stats().timeouts, 1, "and not for ever");
}

#[test]
fn each_retransmission_at_snd_una_restarts_the_timer() {
    let mut s = flight(5, 20_000);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.advance_ms(10);
    s.recv(". 1 ack 1 sack 1001:5001");
    s.advance_ms(100);
    s.skip();
    // The first copy is lost. The second one goes out.
    s.recv(". 1 ack 1 sack 1001:6001");
    assert!(s.skip().iter().any(|run| run.stream_offset == 0));
    let rto_ms = s.connection.rto().as_nanos() / 1_000_000;
    assert_eq!(s.next_timer_ms(), Some(rto_ms));
}

#[test]
fn each_round_trip_with_a_dsack_adds_a_quarter() {
    let mut s = flight(10, 40_000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.recv(". 1 ack 2001");
    // The peer received 1:1001 twice.
    s.recv(". 1 ack 2001 sack 1:1001");
    s.recv(". 1 ack 2001 sack 1:1001");
    s.recv(". 1 ack 2001 sack 3001:4001");
    assert_eq!(s.next_timer_ms(), Some(50));
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    let mut s = flight(5, 20_000);
    s.recv(". 1 ack 1 sack 1001:4001");
    // The window was already full before.
    assert_eq!(s.skip().first().map(|run| run.stream_offset), Some(0));
    s.advance_ms(10);
    s.recv(". 1 ack 1 sack 1001:5001");
    let sent = s.skip();
    assert!(sent.iter().all(|run| !run.retransmission) && !sent.is_empty());
    s.advance_ms(100);
    // This segment was sent 10 ms after the retransmission and arrived before it; the
    // retransmission is outstanding for a round trip.
    s.recv(". 1 ack 1 sack 1001:6001");
    let again = s.skip();
    assert!(again.first().is_some_and(|run| run.stream_offset == 0), "{again:?}");
    assert_eq!(s.connection.stats().timeouts, 0);
    assert_eq!(s.connection.stats().fast_retransmits, 2, "RFC 5681 §4.3: lowered twice");
}

#[test]
fn an_ack_of_the_original_does_not_deliver_the_retransmission() {
    let mut s = flight_of(
        rack().with(|c| {
            c.extensions.timestamps = true;
            c.window.initial = 5;
        }),
        20_000,
    );
    s.recv(". 1 ack 1 sack 1001:4001 TS 110:10100");
    assert!(s.skip().first().is_some_and(|run| run.retransmission));
    s.advance_ms(10);
    // 1:1001 was late: the echo is older than the retransmission. Segments sent before the
    // retransmission are not lost.
    s.recv(". 1 ack 4001 TS 120:10100");
    s.advance_ms(60);
    assert!(s.skip().iter().all(|run| !run.retransmission));
}

#[test]
fn before_the_first_sample_no_ack_counts_for_a_retransmission() {
    let mut s = Script::without_handshake(rack().with(|c| c.window.initial = 4));
    s.write(4000);
    s.skip();
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    // Each of these ACKs may answer an original, as the RTT exceeds a second.
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    s.advance_ms(1);
    s.recv(". 1 ack 1001 sack 2001:3001");
    s.advance_ms(1);
    assert!(s.skip().iter().all(|run| run.stream_offset != 1000), "sent again 2 ms ago");
}

#[test]
fn an_ack_of_the_retransmission_reveals_losses_before_it() {
    let mut s = flight_of(
        rack().with(|c| {
            c.extensions.timestamps = true;
            c.window.initial = 5;
        }),
        4940,
    );
    s.recv(". 1 ack 1 sack 989:3953 TS 110:10100");
    s.skip();
    s.advance_ms(100);
    // The retransmission has arrived, the last of the five segments has not.
    s.recv(". 1 ack 3953 TS 210:10200");
    s.expect(&["P. 3953:4941 ack 1"]);
}

#[test]
fn after_a_timeout_a_lost_retransmission_is_found_as_well() {
    let mut s = flight(4, 4000);
    s.advance_ms(900);
    s.expect(&[". 1:1001 ack 1"]);
    s.advance_ms(100);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    s.advance_ms(100);
    s.recv(". 1 ack 1001 sack 2001:3001");
    s.advance_ms(50);
    let sent = s.skip();
    assert!(sent.iter().any(|run| run.stream_offset == 1000), "{sent:?}");
    assert_eq!(s.connection.stats().timeouts, 1);
}

#[test]
fn a_sack_block_gives_a_sample_of_the_round_trip() {
    let mut s = flight(2, 2000);
    s.advance_ms(60);
    s.recv(". 1 ack 1 sack 1001:2001");
    // 7/8 of 100 ms and 1/8 of 160 ms.
    assert_eq!(s.connection.smoothed_rtt(), Some(crate::Span::from_micros(107_500)));
}

#[test]
fn a_hole_filled_late_gives_no_rtt_sample_for_the_data_behind_it() {
    let mut s = flight(3, 3000);
    s.recv(". 1 ack 1 sack 1001:3001");
    s.advance_ms(25);
    s.expect(&[". 1:1001 ack 1"]);
    s.advance_ms(400);
    s.recv(". 1 ack 3001");
    assert_eq!(s.connection.smoothed_rtt(), Some(crate::Span::from_millis(100)));
}

#[test]
fn a_copy_that_arrives_after_all_shows_no_reordering() {
    let mut s = flight(12, 40_000);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.advance_ms(10);
    s.recv(". 1 ack 1 sack 1001:12001");
    assert!(s.skip().iter().any(|run| run.retransmission));
    s.advance_ms(100);
    // A segment sent 10 ms after the copy arrived before it.
    s.take(". 1 ack 1 sack 1001:13001");
    s.take(". 1 ack 13001");
    s.drain();
    assert!(s.skip().iter().all(|run| !run.retransmission));
    // Had reordering been observed, the timer would have to expire first.
    s.recv(". 1 ack 13001 sack 14001:17001");
    assert!(s.skip().iter().any(|run| run.stream_offset == 13_000));
}

#[test]
fn an_echo_shows_that_the_original_arrived_later_than_a_round_trip_after_the_copy_was_sent() {
    let mut s = flight_of(
        rack().with(|c| {
            c.extensions.timestamps = true;
            c.window.initial = 5;
        }),
        4940,
    );
    s.recv(". 1 ack 1 sack 989:3953 TS 110:10100");
    assert!(s.skip().first().is_some_and(|run| run.retransmission));
    s.advance_ms(110);
    // The original was delayed for 110 ms more. The fifth segment was sent with it.
    s.recv(". 1 ack 3953 TS 220:10100");
    s.expect_nothing();
}

#[test]
fn rfc2883_a_dsack_within_the_second_block_widens_the_reordering_window() {
    let mut s = flight(10, 40_000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.recv(". 1 ack 2001");
    s.recv(". 1 ack 2001 sack 3001:4001");
    assert_eq!(s.next_timer_ms(), Some(25));
    // The peer received 3001:4001 twice.
    s.recv(". 1 ack 2001 sack 3001:4001,3001:5001");
    assert_eq!(s.next_timer_ms(), Some(50));
}

#[test]
fn rfc2883_a_first_block_outside_the_second_reports_no_duplicate() {
    for blocks in ["4001:5001,6001:7001", "5001:6001,3001:4001", "3001:6001,4001:7001"] {
        let mut s = flight(10, 40_000);
        s.recv(". 1 ack 1 sack 1001:2001");
        s.recv(". 1 ack 2001");
        s.recv(&format!(". 1 ack 2001 sack {blocks}"));
        assert_eq!(s.next_timer_ms(), Some(25), "{blocks}");
    }
}
