//! RFC 9293 §3.7, §3.8.6: data both ways, when it is sent and when it is acknowledged.

use super::script::{Script, plain};
use crate::config::AckPolicy;
use crate::conn::{Error, Event, State};
use crate::{Config, Flags, Segment, Span};
use alloc::format;
use alloc::vec::Vec;

fn delayed_ack() -> Script {
    let ack_policy = AckPolicy::Delayed { max: Span::from_millis(200) };
    Script::established(plain().with(|c| c.acks.policy = ack_policy))
}

fn with_initial_window(segments: u32) -> Config {
    plain().with(|c| c.window.initial = segments)
}

#[test]
fn rfc5681_every_second_full_segment_is_acknowledged_at_once() {
    let mut s = delayed_ack();
    s.recv(". 1:1001 ack 1");
    s.expect_nothing();
    s.recv(". 1001:2001 ack 1");
    s.expect(&[". 1 ack 2001"]);
    s.advance_ms(1000);
    s.expect_nothing();
}

#[test]
fn rfc9293_a_single_segment_is_acknowledged_after_the_delay() {
    let mut s = delayed_ack();
    s.recv("P. 1:101 ack 1");
    s.advance_ms(199);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&[". 1 ack 101"]);
}

/// A connection after the first segments, which Linux acknowledges at once; all data is read.
fn linux_ack() -> Script {
    let ack_policy = AckPolicy::Linux { max: Span::from_millis(40) };
    let mut s = Script::established(plain().with(|c| c.acks.policy = ack_policy));
    for first in (0..16).map(|index| 1 + index * 1000) {
        s.recv(&format!(". {first}:{} ack 1", first + 1000));
        s.expect(&[&format!(". 1 ack {}", first + 1000)]);
    }
    s.read(16_000);
    s
}

/// Linux, tcp_cleanup_rbuf.
#[test]
fn linux_acknowledges_data_with_psh_once_it_is_read() {
    let mut s = linux_ack();
    s.recv("P. 16001:17001 ack 1");
    s.expect_nothing();
    s.read(999);
    s.expect_nothing();
    s.read(1);
    s.expect(&[". 1 ack 17001"]);
    s.recv(". 17001:18001 ack 1");
    s.read(1000);
    s.advance_ms(39);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&[". 1 ack 18001"]);
}

#[test]
fn linux_acknowledges_data_by_the_answer_to_it() {
    let mut s = linux_ack();
    for first in [16_001, 16_101] {
        s.recv(&format!("P. {first}:{} ack {}", first + 100, 1 + (first - 16_001) / 2));
        s.read(100);
        // The receiver expects an answer only after the first one.
        if first == 16_001 {
            s.expect(&[". 1 ack 16101"]);
            s.write(50);
            s.expect(&["P. 1:51 ack 16101"]);
        } else {
            s.expect_nothing();
            s.write(50);
            s.expect(&["P. 51:101 ack 16201"]);
        }
    }
}

#[test]
fn linux_acknowledges_each_segment_at_once_after_a_duplicate() {
    let mut s = linux_ack();
    s.recv(". 15001:16001 ack 1");
    s.expect(&[". 1 ack 16001"]);
    s.recv(". 16001:17001 ack 1");
    s.expect(&[". 1 ack 17001"]);
}

#[test]
fn the_last_segment_that_cwnd_admits_has_psh() {
    let mut s =
        Script::established(with_initial_window(2).with(|c| c.sending.push_when_held_back = true));
    s.write(6000);
    s.expect(&[". 1:1001 ack 1", "P. 1001:2001 ack 1"]);
    s.recv(". 1 ack 2001");
    s.expect(&[". 2001:3001 ack 1", ". 3001:4001 ack 1", "P. 4001:5001 ack 1"]);
    s.recv(". 1 ack 5001");
    s.expect(&["P. 5001:6001 ack 1"]);
}

#[test]
fn a_delayed_ack_rides_on_data() {
    let mut s = delayed_ack();
    s.recv("P. 1:101 ack 1");
    s.write(50);
    s.expect(&["P. 1:51 ack 101"]);
    s.advance_ms(500);
    s.expect_nothing();
}

#[test]
fn rfc5681_out_of_order_segments_and_what_fills_the_gap_are_acknowledged_at_once() {
    let mut s = delayed_ack();
    s.recv(". 1001:2001 ack 1");
    s.expect(&[". 1 ack 1"]);
    s.recv(". 3001:4001 ack 1");
    s.expect(&[". 1 ack 1"]);
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 1 ack 2001"]);
    s.recv(". 2001:3001 ack 1");
    s.expect(&[". 1 ack 4001"]);
    assert_eq!(s.connection.readable(), 4000);
}

#[test]
fn a_duplicate_ack_does_not_ride_on_data() {
    let mut s = Script::established(plain());
    // Nagle's algorithm holds the rest back until the ACK on the segment beyond the gap.
    s.write(100);
    s.write(200);
    s.skip();
    s.recv(". 1001:2001 ack 101");
    s.expect(&[". 101 ack 1", "P. 101:301 ack 1"]);
}

#[test]
fn nagle_holds_a_small_segment_back_while_data_is_in_flight() {
    let mut s = Script::established(plain());
    s.write(100);
    s.expect(&["P. 1:101 ack 1"]);
    s.write(100);
    s.write(200);
    s.expect_nothing();
    s.recv(". 1 ack 101");
    s.expect(&["P. 101:401 ack 1"]);
    s.write(1100);
    s.expect(&[". 401:1401 ack 1"]);
    s.recv(". 1 ack 401");
    s.expect_nothing();
    s.recv(". 1 ack 1401");
    s.expect(&["P. 1401:1501 ack 1"]);
}

#[test]
fn nagle_lets_the_last_segment_before_a_fin_go() {
    let mut s = Script::established(plain());
    s.write(1100);
    s.expect(&[". 1:1001 ack 1"]);
    s.close();
    s.expect(&["FP. 1001:1101 ack 1"]);
}

#[test]
fn without_nagle_small_segments_go_at_once() {
    let mut s = Script::established(plain().with(|c| c.sending.nagle = false));
    s.write(100);
    s.write(200);
    s.expect(&["P. 1:101 ack 1", "P. 101:301 ack 1"]);
}

#[test]
fn push_is_set_where_the_written_data_ends() {
    let mut s = Script::established(plain());
    s.write(3000);
    s.expect(&[". 1:1001 ack 1", ". 1001:2001 ack 1", "P. 2001:3001 ack 1"]);
}

#[test]
fn the_send_buffer_limits_what_may_be_written() {
    let mut s = Script::established(plain().with(|c| c.buffers.send = 2500));
    s.expect_events(&[Event::Connected]);
    assert_eq!(s.connection.writable(), 2500);
    assert_eq!(s.connection.write(10_000), Ok(2500));
    assert_eq!(s.connection.write(1), Ok(0));
    s.drain();
    s.expect_events(&[]);
    s.recv(". 1 ack 1001");
    s.expect_events(&[Event::Writable]);
    assert_eq!(s.connection.writable(), 1000);
    s.recv(". 1 ack 2001");
    s.expect_events(&[]);
}

#[test]
fn an_ack_makes_a_writer_no_room_while_the_send_buffer_was_made_smaller() {
    let mut s = Script::established(plain().with(|c| c.buffers.send = 3000));
    s.expect_events(&[Event::Connected]);
    assert_eq!(s.connection.write(10_000), Ok(3000));
    s.drain();
    s.connection.limit_buffers(1000, u64::MAX);
    s.recv_all(&[". 1 ack 1001", ". 1 ack 2001"]);
    s.expect_events(&[]);
    s.recv(". 1 ack 2002");
    s.expect_events(&[Event::Writable]);
}

#[test]
fn the_window_closes_as_the_receive_buffer_fills_and_opens_as_it_is_read() {
    let mut s = Script::established(plain().with(|c| c.buffers.receive = 4000));
    s.recv_all(&[". 1:1001 ack 1", ". 1001:2001 ack 1", ". 2001:3001 ack 1", ". 3001:4001 ack 1"]);
    s.expect(&[
        ". 1 ack 1001 win 3000",
        ". 1 ack 2001 win 2000",
        ". 1 ack 3001 win 1000",
        ". 1 ack 4001 win 0",
    ]);
    // RFC 9293 §3.8.6.2.2: not less than a segment.
    s.read(999);
    s.expect_nothing();
    s.read(1);
    s.expect(&[". 1 ack 4001 win 1000"]);
    s.recv(". 4001:5001 ack 1");
    s.expect(&[". 1 ack 5001 win 0"]);
}

#[test]
fn reading_half_of_a_large_buffer_is_worth_a_window_update() {
    let mut s = Script::established(plain().with(|c| c.buffers.receive = 10_000));
    s.recv(". 1:6001 ack 1");
    s.expect(&[". 1 ack 6001 win 4000"]);
    s.read(4999);
    s.expect_nothing();
    s.read(1);
    s.expect(&[". 1 ack 6001 win 9000"]);
}

#[test]
fn an_ack_sent_for_other_reasons_announces_room_for_a_segment() {
    let mut s = Script::established(plain().with(|c| c.buffers.receive = 10_000));
    s.recv(". 1:2001 ack 1");
    s.read(2000);
    s.recv(". 2001:2101 ack 1");
    s.expect(&[". 1 ack 2001 win 8000", ". 1 ack 2101 win 9900"]);
}

#[test]
fn rfc7323_both_windows_are_scaled() {
    let config = plain().with(|c| {
        c.extensions.window_scaling = true;
        c.buffers.receive = 1 << 20;
    });
    let mut s = Script::connect(config);
    s.expect(&["S 0 win 65535 mss 1000 wscale 5"]);
    s.recv("S. 0 ack 1 win 1000 mss 1000 wscale 3");
    s.expect(&[". 1 ack 1 win 32768"]);
    s.recv(". 1 ack 1 win 1000");
    assert_eq!(s.connection.peer_window_edge(), 8000);
    // 1 MiB less 100 bytes, in units of 32: rounded up once the buffer has room for that.
    s.recv(". 1:101 ack 1 win 1000");
    s.read(100);
    s.recv(". 101:102 ack 1 win 1000");
    s.expect(&[". 1 ack 101 win 32764", ". 1 ack 102 win 32765"]);
}

#[test]
fn a_scaled_window_never_takes_more_than_the_buffer() {
    let config = plain().with(|c| {
        c.extensions.window_scaling = true;
        c.buffers.receive = 300_000;
    });
    let mut s = Script::established(config);
    let mut next = 1;
    for _ in 0..400 {
        s.recv(&alloc::format!(". {next}:{} ack 1", next + 999));
        next += 999;
    }
    assert_eq!(s.connection.readable(), 300_000);
}

#[test]
fn both_streams_wrap_around_the_sequence_space() {
    let mut s = Script::established(with_initial_window(6));
    s.write(6000);
    let numbers: Vec<u32> = s.skip().iter().map(|run| run.first.seq.0).collect();
    assert!(numbers[0] > u32::MAX - 3000 && numbers[5] < 3000, "{numbers:?}");
    s.recv_all(&[". 1:1001 ack 2001", ". 1001:2001 ack 4001", ". 2001:3001 ack 6001"]);
    s.expect(&[". 6001 ack 1001", ". 6001 ack 2001", ". 6001 ack 3001"]);
    assert_eq!((s.connection.bytes_acked(), s.connection.readable()), (6000, 3000));
}

#[test]
fn a_run_holds_as_many_full_segments_as_the_congestion_window() {
    let mut s = Script::established(with_initial_window(10));
    s.max_run = 44;
    s.write(12_500);
    s.expect(&[". 1:1001 ack 1 x10"]);
    s.recv(". 1 ack 2001");
    s.expect(&[". 10001:11001 ack 1 x2"]);
    s.recv(". 1 ack 12001");
    s.expect(&["P. 12001:12501 ack 1"]);
}

#[test]
fn a_run_holds_as_many_full_segments_as_the_peers_window() {
    let mut s = Script::established(with_initial_window(20));
    s.max_run = 44;
    s.recv(". 1 ack 1 win 3500");
    s.write(10_000);
    s.expect(&[". 1:1001 ack 1 x3"]);
    s.recv(". 1 ack 1001 win 3500");
    s.expect(&[". 3001:4001 ack 1"]);
}

#[test]
fn a_run_is_not_longer_than_asked_for() {
    let mut s = Script::established(with_initial_window(10));
    s.max_run = 4;
    s.write(10_000);
    s.expect(&[". 1:1001 ack 1 x4", ". 4001:5001 ack 1 x4", "P. 8001:9001 ack 1 x2"]);
}

#[test]
fn the_segments_of_a_run_push_and_end_the_stream_on_the_last_alone() {
    let mut s = Script::established(with_initial_window(10));
    s.max_run = 44;
    s.connection.write(3000).expect("open");
    s.close();
    let runs = s.skip();
    assert_eq!(runs.len(), 1);
    let segments: Vec<Segment> = runs[0].segments().collect();
    let flags: Vec<Flags> = segments.iter().map(|segment| segment.flags).collect();
    assert_eq!(flags, [Flags::ACK, Flags::ACK, Flags::ACK | Flags::PSH | Flags::FIN]);
    for pair in segments.windows(2) {
        assert_eq!(pair[1].seq, pair[0].seq.at(1000));
    }
    s.recv(". 1 ack 3002");
    s.expect_state(State::FinWait2);
}

#[test]
fn retransmissions_and_new_data_are_not_in_one_run() {
    let mut s = Script::established(with_initial_window(2));
    s.max_run = 44;
    s.write(20_000);
    s.advance_ms(1000);
    s.recv(". 1 ack 1001");
    s.recv(". 1 ack 2001");
    let kinds: Vec<(u64, u32, bool)> =
        s.skip().iter().map(|run| (run.stream_offset, run.count, run.retransmission)).collect();
    assert_eq!(
        kinds,
        [(0, 2, false), (0, 1, true), (1000, 1, true), (2000, 1, false), (3000, 1, false)]
    );
    assert_eq!(s.connection.stats().retransmitted_segments, 2);
}

#[test]
fn rfc9293_the_sender_waits_for_a_window_worth_a_segment() {
    let mut s = Script::established(plain());
    s.recv(". 1 ack 1 win 300");
    s.write(5000);
    s.expect_nothing();
    s.recv(". 1 ack 1 win 999");
    s.expect_nothing();
    s.recv(". 1 ack 1 win 1000");
    s.expect(&[". 1:1001 ack 1"]);
}

#[test]
fn rfc9293_half_of_the_largest_window_is_worth_a_segment() {
    let mut s = Script::connect(plain());
    s.recv("S. 0 ack 1 win 600 mss 1000");
    s.skip();
    s.write(5000);
    s.expect(&[". 1:601 ack 1"]);
    s.recv(". 1 ack 601 win 299");
    s.expect_nothing();
    s.recv(". 1 ack 601 win 300");
    s.expect(&[". 601:901 ack 1"]);
}

#[test]
fn rfc5681_after_an_idle_rto_the_window_is_the_initial_one() {
    let mut s = Script::established(plain());
    s.write(4000);
    s.recv(". 1 ack 2001");
    s.recv(". 1 ack 4001");
    assert!(s.connection.cwnd() > 5000.0);
    s.advance_ms(1001);
    s.write(10_000);
    assert_eq!(s.connection.cwnd(), 4000.0);
    assert_eq!(s.connection.in_flight(), 4000);
}

#[test]
fn rfc7661_a_window_that_is_not_used_does_not_grow() {
    let mut s = Script::established(with_initial_window(10));
    for end in [101, 201, 301] {
        s.write(100);
        s.recv(&alloc::format!(". 1 ack {end}"));
    }
    assert_eq!(s.connection.cwnd(), 10_000.0);
}

#[test]
fn an_endless_source_fills_the_buffer_and_gets_no_writable_event() {
    let mut s = Script::established(with_initial_window(10).with(|c| c.buffers.send = 3000));
    s.expect_events(&[Event::Connected]);
    s.connection.write_endlessly().expect("open");
    s.drain();
    s.expect(&[". 1:1001 ack 1", ". 1001:2001 ack 1", "P. 2001:3001 ack 1"]);
    s.recv(". 1 ack 2001");
    s.expect(&[". 3001:4001 ack 1", "P. 4001:5001 ack 1"]);
    s.expect_events(&[]);
    s.close();
    s.recv(". 1 ack 5001");
    s.expect(&["F. 5001 ack 1"]);
    assert_eq!((s.connection.bytes_written(), s.connection.writable()), (5000, 0));
    assert_eq!(s.connection.write_endlessly(), Err(Error::Closed));
}

#[test]
fn a_sink_keeps_its_window_open_and_gets_only_the_event_of_the_end() {
    let mut s = Script::established(plain().with(|c| c.buffers.receive = 4000));
    s.expect_events(&[Event::Connected]);
    s.connection.discard_incoming();
    for n in 0..10 {
        s.recv(&format!(". {}:{} ack 1", n * 1000 + 1, n * 1000 + 1001));
        s.expect(&[&format!(". 1 ack {} win 4000", n * 1000 + 1001)]);
    }
    s.expect_events(&[]);
    assert_eq!((s.connection.bytes_read(), s.connection.readable()), (10_000, 0));
    s.recv("F. 10001 ack 1");
    s.expect_events(&[Event::Readable, Event::PeerClosed]);
}

#[test]
fn a_closed_connection_takes_no_data_in_any_state() {
    let mut s = Script::established(plain());
    assert!(s.connection.writable() > 0);
    s.connection.write(5000).expect("open");
    s.close();
    assert_eq!(s.connection.writable(), 0, "data is still being sent");
    let s = Script::listen(plain());
    assert_eq!(s.connection.writable(), 0, "no peer yet");
}

#[test]
fn a_segment_that_arrives_twice_beyond_a_gap_is_counted_as_a_duplicate() {
    let mut s = Script::established(plain());
    s.recv_times(3, ". 1001:2001 ack 1");
    assert_eq!(s.connection.stats().duplicates_received, 2);
    s.recv(". 1:1001 ack 1");
    s.recv(". 1:1001 ack 1");
    assert_eq!(s.connection.stats().duplicates_received, 3);
}
