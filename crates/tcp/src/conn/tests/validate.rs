//! RFC 9293 §3.10.7.4 steps 1 to 5, RFC 5961 and PAWS: segments that are rejected.

use super::script::{Script, plain};
use crate::conn::{Error, Event, State};

/// Connected, with a receive window of 1000 bytes.
fn small_window() -> Script {
    Script::established(plain().with(|c| c.buffers.receive = 1000))
}

fn with_timestamps() -> Script {
    Script::established(plain().with(|c| c.extensions.timestamps = true))
}

#[test]
fn rfc5961_a_reset_exactly_at_rcv_nxt_takes_effect() {
    let mut s = small_window();
    s.recv("R 1");
    s.expect_state(State::Closed);
    s.expect_nothing();
    s.expect_events(&[Event::Connected, Event::Failed(Error::Reset)]);
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn rfc5961_a_reset_elsewhere_in_the_window_is_challenged() {
    let mut s = small_window();
    for line in ["R 2", "R 1000"] {
        s.recv(line);
        s.expect(&[". 1 ack 1"]);
        s.expect_state(State::Established);
    }
}

#[test]
fn rfc5961_a_reset_outside_the_window_is_ignored() {
    let mut s = small_window();
    for line in ["R 0", "R 1500", "R. 1500 ack 1"] {
        s.recv(line);
        s.expect_nothing();
        s.expect_state(State::Established);
    }
}

#[test]
fn rfc5961_a_syn_is_challenged_wherever_it_is() {
    let mut s = small_window();
    for line in ["S 1", "S 500", "S 5000", "S. 0 ack 1", "S 0", "S. 1 ack 1"] {
        s.recv(line);
        s.expect(&[". 1 ack 1"]);
        s.expect_state(State::Established);
    }
}

#[test]
fn rfc5961_an_ack_of_data_never_sent_is_answered_and_dropped() {
    let mut s = small_window();
    s.write(1000);
    s.expect(&["P. 1:1001 ack 1"]);
    s.recv(". 1:11 ack 1002");
    s.expect(&[". 1001 ack 1"]);
    assert_eq!((s.connection.bytes_acked(), s.connection.readable()), (0, 0));
}

#[test]
fn rfc5961_an_ack_older_than_the_largest_window_is_challenged_and_its_data_dropped() {
    let mut s = small_window();
    s.window = 1000;
    for _ in 0..80 {
        let before = s.connection.bytes_acked();
        s.write(1000);
        s.recv(&alloc::format!(". 1 ack {}", before + 1001));
    }
    s.skip();
    // SND.UNA is 80001, the largest window was the SYN-ACK's 65535.
    s.recv(". 1:11 ack 14465");
    s.expect(&[". 80001 ack 1"]);
    assert_eq!(s.connection.readable(), 0);
    s.recv(". 1:11 ack 14466");
    s.expect(&[". 80001 ack 11"]);
}

#[test]
fn segments_outside_the_window_are_answered_by_an_ack() {
    let mut s = small_window();
    s.recv("P. 1:501 ack 1");
    s.expect(&[". 1 ack 501 win 500"]);
    for line in
        ["P. 1:501 ack 1", "P. 1001:1101 ack 1", ". 0 ack 1", ". 1002 ack 1", "F. 500 ack 1"]
    {
        s.recv(line);
        s.expect(&[". 1 ack 501 win 500"]);
    }
    assert_eq!(s.connection.readable(), 500);
}

#[test]
fn the_ack_of_a_segment_outside_the_window_is_not_taken() {
    let mut s = small_window();
    s.recv("P. 1:501 ack 1");
    s.write(1000);
    s.recv_all(&[". 499 ack 1001", ". 1002 ack 1001", "P. 1001:1101 ack 1001"]);
    assert_eq!(s.connection.bytes_acked(), 0);
    // Except from a peer that does not know yet that its one-byte probe was taken.
    s.recv(". 500 ack 1001");
    assert_eq!(s.connection.bytes_acked(), 1000);
}

#[test]
fn a_segment_partly_in_the_window_is_trimmed_to_it() {
    let mut s = small_window();
    s.recv("P. 1:501 ack 1");
    let accepted = s.recv("P. 301:2001 ack 1");
    assert_eq!((accepted.stream_offset, accepted.skip, accepted.len), (500, 200, 500));
    s.skip();
    assert_eq!(s.connection.readable(), 1000);
}

#[test]
fn a_segment_without_ack_is_dropped() {
    let mut s = small_window();
    s.recv("P 1:101");
    s.expect_nothing();
    assert_eq!(s.connection.readable(), 0);
}

#[test]
fn a_closed_window_takes_acks_and_resets_and_no_data() {
    let mut s = small_window();
    s.write(1000);
    s.recv("P. 1:1001 ack 1");
    s.expect(&["P. 1:1001 ack 1", ". 1001 ack 1001 win 0"]);
    s.recv("P. 1001:1002 ack 1");
    s.expect(&[". 1001 ack 1001 win 0"]);
    assert_eq!(s.connection.bytes_acked(), 0);
    // RFC 9293 §3.10.7.4: the data of a probe is dropped, but its ACK counts.
    s.recv("P. 1001:1002 ack 501");
    s.expect(&[". 1001 ack 1001 win 0"]);
    assert_eq!(s.connection.bytes_acked(), 500);
    s.recv(". 1001 ack 1001");
    s.expect_nothing();
    assert_eq!(s.connection.bytes_acked(), 1000);
    s.recv("R 1001");
    s.expect_state(State::Closed);
}

#[test]
fn the_ack_of_a_peer_that_has_used_up_the_window_counts() {
    let mut s = small_window();
    s.write(1000);
    s.skip();
    // Its first 500 bytes were lost: it stands at the right edge, and the window is not closed.
    s.recv("P. 501:1001 ack 1");
    s.recv(". 1001 ack 1001");
    assert_eq!(s.connection.bytes_acked(), 1000);
}

#[test]
fn rfc7323_paws_an_old_duplicate_from_before_the_wrap_is_answered_and_dropped() {
    let mut s = with_timestamps();
    s.recv(". 1:101 ack 1 TS 500:10000");
    s.expect(&[". 1 ack 101 TS 10100:500"]);
    s.recv(". 101:201 ack 1 TS 499:10000");
    s.expect(&[". 1 ack 101 TS 10100:500"]);
    assert_eq!(s.connection.readable(), 100);
    s.recv(". 101:201 ack 1 TS 500:10000");
    s.expect(&[". 1 ack 201"]);
}

#[test]
fn rfc2883_an_original_is_reported_whether_it_arrives_before_or_after_its_copy() {
    for (first, second) in [(500, 600), (600, 500)] {
        let mut s = Script::established(plain().with(|c| {
            c.extensions.timestamps = true;
            c.extensions.sack = true;
        }));
        s.recv(&alloc::format!(". 1:101 ack 1 TS {first}:10000"));
        s.skip();
        s.recv(&alloc::format!(". 1:101 ack 1 TS {second}:10000"));
        s.expect(&[". 1 ack 101 sack 1:101"]);
        assert_eq!(s.connection.stats().duplicates_received, 1);
    }
}

#[test]
fn rfc7323_paws_the_timestamp_clock_may_wrap() {
    let mut s = with_timestamps();
    s.recv(". 1:101 ack 1 TS 2147483648:10000");
    s.recv(". 101:201 ack 1 TS 4294967295:10000");
    s.recv(". 201:301 ack 1 TS 5:10000");
    assert_eq!(s.connection.readable(), 300);
}

const DAY_MS: u64 = 24 * 3600 * 1000;

#[test]
fn rfc7323_outdated_timestamps_are_invalid_after_24_idle_days() {
    for (idle_days, valid) in [(23, true), (24, false), (25, false), (40, false)] {
        let mut s = with_timestamps();
        s.recv(". 1:101 ack 1 TS 1000000000:10000");
        s.skip();
        s.advance_ms(idle_days * DAY_MS);
        let behind = 1_000_000_000 - 5;
        s.recv(&alloc::format!(". 101:201 ack 1 TS {behind}:10000"));
        let taken = if valid { 100 } else { 200 };
        assert_eq!(s.connection.readable(), taken, "after {idle_days} days");
    }
}

#[test]
fn rfc7323_a_connection_goes_on_after_25_idle_days() {
    let mut s = with_timestamps();
    s.recv(". 1:101 ack 1 TS 500:10000");
    s.skip();
    s.advance_ms(25 * DAY_MS);
    // 25 days are more than 2^31 ms: the peer's clock looks older than TS.Recent.
    let later = 500 + 25 * DAY_MS;
    s.recv(&alloc::format!(". 101:201 ack 1 TS {later}:10100"));
    assert_eq!(s.connection.readable(), 200);
    // From then on PAWS holds again.
    s.recv(&alloc::format!(". 201:301 ack 1 TS {}:10100", later - 1));
    assert_eq!(s.connection.readable(), 200);
    s.skip();
    s.write(100);
    let sent = s.skip();
    let echo = sent[0].first.options.timestamps.map(|timestamps| timestamps.echo_reply);
    assert_eq!(echo, Some(later as u32));
    s.recv(&alloc::format!(". 201 ack 101 TS {later}:{}", (10_100 + 25 * DAY_MS) as u32));
    assert_eq!(s.connection.bytes_acked(), 100);
}

#[test]
fn rfc7323_a_segment_without_the_agreed_timestamps_is_dropped_unless_it_is_a_reset() {
    let mut s = with_timestamps();
    s.recv(". 1:101 ack 1");
    s.expect_nothing();
    assert_eq!(s.connection.readable(), 0);
    s.recv("R 1");
    s.expect_state(State::Closed);
}

#[test]
fn rfc7323_the_timestamp_of_a_segment_outside_the_window_is_not_remembered() {
    let mut s = with_timestamps();
    s.recv(". 1:101 ack 1 TS 500:10000");
    s.skip();
    // An attacker who guesses half the sequence space must not make PAWS drop the peer's segments.
    s.recv(". 0 ack 1 TS 1000000:10000");
    s.expect(&[". 1 ack 101 TS 10100:500"]);
    s.recv(". 101:201 ack 1 TS 501:10000");
    assert_eq!(s.connection.readable(), 200);
}

/// RFC 5961 §5.2: the segment is discarded, and with it its timestamp.
#[test]
fn rfc7323_the_timestamp_of_a_segment_with_an_unacceptable_ack_is_not_remembered() {
    let mut s = with_timestamps();
    s.recv("F. 1 ack 9999 TS 1000000:10000");
    s.expect(&[". 1 ack 1 TS 10100:1"]);
    s.recv(". 1:101 ack 1 TS 501:10000");
    assert_eq!(s.connection.readable(), 100);
}

#[test]
fn rfc7323_the_echo_is_that_of_the_segment_that_the_ack_advances_over() {
    let mut s = with_timestamps();
    s.recv(". 1001:2001 ack 1 TS 700:10000");
    s.expect(&[". 1 ack 1 TS 10100:1"]);
    s.recv(". 1:1001 ack 1 TS 800:10000");
    s.expect(&[". 1 ack 2001 TS 10100:800"]);
}

#[test]
fn a_full_duplicate_is_reported_as_dsack() {
    let mut s = Script::established(plain().with(|c| c.extensions.sack = true));
    s.recv(". 1:1001 ack 1");
    s.skip();
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 1 ack 1001 sack 1:1001"]);
    assert_eq!(s.connection.stats().duplicates_received, 1);
    s.recv(". 1001:2001 ack 1");
    s.expect(&[". 1 ack 2001"]);
}

#[test]
fn rfc5961_challenge_acks_are_limited() {
    let mut s = small_window();
    for _ in 0..10 {
        s.recv("R 500");
        s.expect(&[". 1 ack 1 win 1000"]);
    }
    s.recv_all(&["R 500", "S 500", ". 1 ack 90001"]);
    s.expect_nothing();
    s.advance_ms(5000);
    s.recv("R 500");
    s.expect(&[". 1 ack 1 win 1000"]);
}

/// In TIME-WAIT after 100 bytes and a FIN from the peer; TS.Recent is `recent`.
fn in_time_wait(timestamps: bool, recent: u32) -> Script {
    let mut s = Script::established(plain().with(|c| c.extensions.timestamps = timestamps));
    // PAWS accepts less than half the number space at once.
    let steps = [0x6000_0000, 0xb000_0000].into_iter().filter(|step| timestamps && *step < recent);
    for value in steps {
        s.recv(&alloc::format!(". 1 ack 1 TS {value}:10100"));
    }
    let stamp = if timestamps { alloc::format!(" TS {recent}:10100") } else { "".into() };
    s.recv(&alloc::format!("P. 1:101 ack 1{stamp}"));
    s.close();
    s.recv(&alloc::format!("F. 101 ack 2{stamp}"));
    s.expect_state(State::TimeWait);
    s
}

#[test]
fn rfc9293_in_time_wait_a_syn_beyond_what_was_received_makes_room() {
    let s = in_time_wait(false, 0);
    // RCV.NXT is 102.
    assert!(s.makes_room_for("S 103"));
    assert!(!s.makes_room_for("S 102"));
    assert!(!s.makes_room_for("S 50"));
    assert!(!s.makes_room_for("S. 103 ack 2"), "no SYN-ACK");
    assert!(!s.makes_room_for("SR 103"), "no reset");
    assert!(!s.makes_room_for(". 103 ack 2"), "a SYN only");
}

#[test]
fn rfc6191_in_time_wait_a_syn_with_a_later_timestamp_makes_room() {
    for recent in [10, 0x7fff_fff0, 0xffff_fff8] {
        let s = in_time_wait(true, recent);
        let syn = |behind: u32| alloc::format!("S 50 TS {}:0", recent.wrapping_add(behind));
        assert!(s.makes_room_for(&syn(1)));
        assert!(s.makes_room_for(&syn(0x7fff_ffff)));
        assert!(!s.makes_room_for(&syn(0)), "the same timestamp may be an old duplicate");
        assert!(!s.makes_room_for(&syn(u32::MAX)), "older by one");
        assert!(!s.makes_room_for(&syn(0x8000_0001)));
        assert!(!s.makes_room_for("S 50"), "no timestamp");
        assert!(s.makes_room_for("S 103"), "beyond what was received");
    }
}

#[test]
fn only_time_wait_makes_room_for_a_syn() {
    let mut s = Script::established(plain());
    assert!(!s.makes_room_for("S 5000"));
    s.recv("F. 1 ack 1");
    s.close();
    assert!(!s.makes_room_for("S 5000"), "LAST-ACK");
}

#[test]
fn rfc7323_a_timestamp_older_by_one_is_dropped_across_the_wrap() {
    for recent in [10u32, 0xffff_ffff, 0] {
        let mut s = with_timestamps();
        // From the handshake's 1 on, by steps of less than half the number space.
        let steps = [0x6000_0000, 0xb000_0000, recent];
        for value in steps.into_iter().skip(if recent == 10 { 2 } else { 0 }) {
            s.recv(&alloc::format!(". 1 ack 1 TS {value}:10100"));
        }
        s.skip();
        s.recv(&alloc::format!("P. 1:101 ack 1 TS {}:10100", recent.wrapping_sub(1)));
        assert_eq!(s.connection.readable(), 0);
        s.recv(&alloc::format!("P. 1:101 ack 1 TS {recent}:10100"));
        assert_eq!(s.connection.readable(), 100);
    }
}

#[test]
fn rfc9293_an_old_segment_without_the_flag_ack_acknowledges_nothing() {
    let mut s = Script::established(plain());
    s.write(2000);
    s.recv(". 1:1001 ack 1");
    s.skip();
    s.recv("- 1:1001 ack 1001");
    assert_eq!(s.connection.bytes_acked(), 0);
    s.recv(". 1:1001 ack 1001");
    assert_eq!(s.connection.bytes_acked(), 1000);
}

#[test]
fn a_reset_that_waits_is_not_replaced_by_the_answer_to_a_later_segment() {
    let mut s = Script::established(plain());
    s.skip();
    s.connection.abort();
    s.take(". 1:1001 ack 7");
    s.drain();
    s.expect(&["R. 1 ack 1"]);
}
