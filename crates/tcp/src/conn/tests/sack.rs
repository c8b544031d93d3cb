//! RFC 2018 and RFC 6675: losses that SACK shows.

use super::script::{Script, plain};
use crate::Config;
use alloc::format;

fn sack() -> Config {
    plain().with(|c| c.extensions.sack = true)
}

/// `segments` in flight, of `written` bytes.
fn flight(segments: u32, written: u64) -> Script {
    let mut s = Script::established(sack().with(|c| c.window.initial = segments));
    s.write(written);
    assert_eq!(s.skip().len(), segments as usize);
    s
}

#[test]
fn a_receiver_reports_what_it_holds_the_latest_first() {
    let mut s = Script::established(sack());
    s.recv(". 1001:2001 ack 1");
    s.recv(". 3001:4001 ack 1");
    s.recv(". 2001:2501 ack 1");
    s.expect(&[
        ". 1 ack 1 sack 1001:2001",
        ". 1 ack 1 sack 3001:4001,1001:2001",
        ". 1 ack 1 sack 1001:2501,3001:4001",
    ]);
}

#[test]
fn the_ack_of_a_gap_filled_in_part_does_not_ride_on_data_which_has_no_room_for_blocks() {
    let mut s = Script::established(sack());
    s.write(100);
    s.write(200);
    s.recv_all(&[". 1001:2001 ack 1", ". 3001:4001 ack 1"]);
    s.skip();
    s.recv(". 1:1001 ack 101");
    s.expect(&[". 101 ack 2001 sack 3001:4001", "P. 101:301 ack 2001"]);
}

#[test]
fn timestamps_leave_room_for_three_blocks() {
    for (timestamps, blocks) in [(false, 4), (true, 3)] {
        let mut s = Script::established(sack().with(|c| c.extensions.timestamps = timestamps));
        let ts = if timestamps { " TS 2:10000" } else { "" };
        for start in [1001, 3001, 5001, 7001, 9001] {
            s.recv(&format!(". {start}:{} ack 1{ts}", start + 1000));
        }
        let last = s.skip().pop().expect("an ACK for each");
        assert_eq!(last.first.options.sack.as_slice().len(), blocks);
        assert!(last.first.options.wire_len() <= 40);
    }
}

#[test]
fn rfc6675_recovery_step_by_step() {
    let mut s = flight(10, 30_000);
    // Lost: 1:1001 and 3001:5001. Each report lets one new segment out (RFC 6675 §5, step 3).
    s.recv(". 1 ack 1 sack 1001:2001");
    s.expect(&[". 10001:11001 ack 1"]);
    s.recv(". 1 ack 1 sack 1001:3001");
    s.expect(&[". 11001:12001 ack 1"]);
    // The third begins the recovery: half of the flight, without what step 3 sent.
    s.recv(". 1 ack 1 sack 5001:6001,1001:3001");
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(5000, 5000);
    // Pipe: 5001:12001 less what arrives, and the retransmission. At 5000 it is full.
    s.recv(". 1 ack 1 sack 5001:7001,1001:3001");
    s.expect_nothing();
    s.recv(". 1 ack 1 sack 5001:8001,1001:3001");
    s.expect_nothing();
    s.recv(". 1 ack 1 sack 5001:9001,1001:3001");
    s.expect(&[". 3001:4001 ack 1"]);
    s.recv(". 1 ack 1 sack 5001:10001,1001:3001");
    s.expect(&[". 4001:5001 ack 1"]);
    s.recv(". 1 ack 1 sack 5001:11001,1001:3001");
    s.expect(&[". 12001:13001 ack 1"]);
    s.recv(". 1 ack 3001 sack 5001:12001");
    s.expect(&[". 13001:14001 ack 1", ". 14001:15001 ack 1"]);
    s.recv(". 1 ack 12001");
    s.expect(&[". 15001:16001 ack 1", ". 16001:17001 ack 1"]);
    s.expect_windows(5000, 5000);
    assert_eq!(s.connection.stats().retransmitted_segments, 3);
    assert_eq!(s.connection.stats().fast_retransmits, 1);
    // The recovery is over: the window opens again.
    s.recv(". 1 ack 13001");
    s.expect_windows(5200, 5000);
}

#[test]
fn rfc6675_one_report_of_many_bytes_is_enough() {
    let mut s = flight(10, 30_000);
    s.recv(". 1 ack 1 sack 1001:3001");
    assert_eq!(s.connection.stats().fast_retransmits, 0);
    s.skip();
    s.recv(". 1 ack 1 sack 1001:3002");
    s.expect(&[". 1:1001 ack 1"]);
}

#[test]
fn rfc6675_a_report_without_news_is_no_duplicate_ack() {
    let mut s = flight(10, 30_000);
    s.recv_times(5, ". 1 ack 1 sack 1001:2001");
    s.recv_times(5, ". 1 ack 1");
    assert_eq!(s.connection.stats().fast_retransmits, 0);
}

#[test]
fn a_report_beyond_what_was_sent_or_below_what_is_acknowledged_is_ignored() {
    let mut s = flight(4, 4000);
    s.recv(". 1 ack 1001");
    for block in ["1:501", "2001:9001", "3001:4002", "4001:4501", "4001:5001", "3001:2001"] {
        s.recv(&format!(". 1 ack 1001 sack {block}"));
    }
    assert_eq!(s.connection.stats().fast_retransmits, 0);
    s.advance_ms(1000);
    s.expect(&[". 1001:2001 ack 1"]);
    s.recv(". 1 ack 2001");
    s.expect(&[". 2001:3001 ack 1", "P. 3001:4001 ack 1"]);
}

#[test]
fn rfc6675_the_tail_is_rescued_once() {
    // Lost: the first segment and the last.
    let mut s = flight(5, 5000);
    s.recv_all(&[". 1 ack 1 sack 1001:2001", ". 1 ack 1 sack 1001:3001"]);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(2500, 2500);
    s.recv(". 1 ack 4001");
    s.expect(&["P. 4001:5001 ack 1"]);
    s.recv(". 1 ack 4501");
    s.expect_nothing();
}

#[test]
fn rfc6675_a_hole_seen_after_the_rescue_is_repaired() {
    // Lost: 1:1001, 4001:5001, 7001:8001 and the last.
    let mut s = flight(10, 10_000);
    s.recv_all(&[". 1 ack 1 sack 1001:2001", ". 1 ack 1 sack 1001:3001"]);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.expect(&[". 1:1001 ack 1"]);
    s.recv(". 1 ack 1 sack 5001:6001,1001:4001");
    s.recv(". 1 ack 4001 sack 5001:7001");
    s.expect(&[". 4001:5001 ack 1"]);
    s.recv(". 1 ack 7001");
    s.expect(&["P. 9001:10001 ack 1"]);
    s.recv(". 1 ack 7001 sack 8001:9001");
    s.expect(&[". 7001:8001 ack 1"]);
}

#[test]
fn a_timeout_sends_nothing_that_the_peer_holds() {
    let mut s = flight(4, 20_000);
    s.recv(". 1 ack 1 sack 2001:3001");
    s.expect(&[". 4001:5001 ack 1"]);
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 3001:4001 ack 1"]);
    s.recv(". 1 ack 4001");
    s.expect(&[". 4001:5001 ack 1", ". 5001:6001 ack 1"]);
}

#[test]
fn rfc6675_no_recovery_of_the_window_that_timed_out() {
    let mut s = flight(10, 30_000);
    s.advance_ms(1000);
    s.skip();
    let timeout = s.connection.ssthresh();
    s.recv_all(&[". 1 ack 1 sack 1001:2001", ". 1 ack 1 sack 1001:3001"]);
    s.recv(". 1 ack 1 sack 1001:5001");
    assert_eq!(s.connection.stats().fast_retransmits, 0);
    assert_eq!(s.connection.ssthresh(), timeout);
}

#[test]
fn rfc2018_a_receiver_that_reneges_gets_everything_again() {
    let mut s = flight(4, 4000);
    s.recv(". 1 ack 1 sack 1001:3001");
    s.recv(". 1 ack 1001");
    s.skip();
    // It would have acknowledged 1001:3001 if it still had it.
    s.advance_ms(1000);
    s.expect(&[". 1001:2001 ack 1"]);
    s.recv(". 1 ack 2001");
    s.expect(&[". 2001:3001 ack 1", "P. 3001:4001 ack 1"]);
}

#[test]
fn a_fin_that_was_lost_alone_is_sent_alone() {
    let mut s = Script::established(sack());
    s.connection.write(2000).expect("open");
    s.close();
    s.skip();
    s.recv(". 1 ack 1001");
    s.recv(". 1 ack 1001 sack 1001:2001");
    s.recv(". 1 ack 2001");
    s.expect_nothing();
    s.advance_ms(1000);
    s.expect(&["F. 2001 ack 1"]);
}

#[test]
fn blocks_without_sack_agreed_are_ignored() {
    let mut s = Script::established(plain().with(|c| c.window.initial = 10));
    s.write(10_000);
    s.skip();
    s.recv(". 1 ack 1 sack 1001:9001");
    assert_eq!(s.connection.stats().fast_retransmits, 0);
    s.advance_ms(1000);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1:1001 ack 1", ". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
}

#[test]
fn after_a_timeout_a_run_ends_where_the_peer_has_the_rest() {
    let mut s = Script::established(plain().with(|c| {
        c.extensions.sack = true;
        c.window.initial = 8;
        c.sending.nagle = false;
    }));
    s.max_run = 44;
    s.write(8000);
    s.skip();
    s.recv(". 1 ack 1 sack 2001:4001");
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    s.recv(". 1 ack 1001 sack 2001:4001");
    s.expect(&[". 1001:2001 ack 1", ". 4001:5001 ack 1"]);
}

/// An ACK number says more about the byte that it names than a block does (RFC 2018 §4: a block
/// reports data beyond a gap).
#[test]
fn a_block_that_begins_at_the_ack_number_is_ignored() {
    let mut s = flight(10, 10_000);
    for _ in 0..3 {
        s.recv(". 1 ack 1 sack 1:1001");
    }
    assert_eq!(s.connection.pipe(), 10_000, "nothing counts as received");
}
