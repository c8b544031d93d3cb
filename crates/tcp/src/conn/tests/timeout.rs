//! RFC 6298 and RFC 5681 §3.1: the retransmission timer.

use super::script::{Script, plain};
use crate::conn::{Error, Event, State};
use crate::{Config, Profile, Span};
use alloc::format;

/// Four segments in flight of 20,000 bytes written.
fn flight(config: Config) -> Script {
    let mut s = Script::established(config.with(|c| c.window.initial = 4));
    s.expect_events(&[Event::Connected]);
    s.write(20_000);
    assert_eq!(s.skip().len(), 4);
    s
}

#[test]
fn the_rto_doubles_with_every_expiry() {
    let mut s = flight(plain());
    for wait in [1000, 2000, 4000, 8000] {
        s.advance_ms(wait - 1);
        s.expect_nothing();
        s.advance_ms(1);
        s.expect(&[". 1:1001 ack 1"]);
    }
    assert_eq!(s.connection.stats().timeouts, 4);
    assert_eq!(s.connection.rto(), Span::from_secs(16));
}

#[test]
fn rfc6298_an_ack_of_new_data_restarts_the_timer() {
    let mut s = flight(plain());
    s.advance_ms(600);
    s.recv(". 1 ack 1001");
    assert_eq!(s.next_timer_ms(), Some(1000));
    s.recv(". 1 ack 1001");
    s.advance_ms(100);
    s.recv(". 1 ack 1001");
    assert_eq!(s.next_timer_ms(), Some(900));
}

#[test]
fn rfc6298_the_timer_stops_when_everything_is_acknowledged() {
    let mut s = Script::established(plain());
    s.write(3000);
    s.recv(". 1 ack 3001");
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn the_window_starts_again_from_one_segment_and_sends_everything_again() {
    let mut s = flight(plain());
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(1000, 2000);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    s.expect_windows(2000, 2000);
    s.recv(". 1 ack 4001");
    s.expect(&[". 4001:5001 ack 1", ". 5001:6001 ack 1"]);
}

#[test]
fn rfc5681_ssthresh_is_held_when_the_same_segment_times_out_again() {
    let mut s = flight(plain().with(|c| c.window.initial = 8));
    s.write(1000);
    s.advance_ms(1000);
    s.expect_windows(1000, 2000);
    s.advance_ms(2000);
    s.expect_windows(1000, 2000);

    let mut s = Script::established(plain().with(|c| c.window.initial = 16));
    s.write(16_000);
    s.advance_ms(1000);
    s.expect_windows(1000, 8000);
    s.advance_ms(2000);
    s.expect_windows(1000, 8000);
}

#[test]
fn rfc2581_ssthresh_falls_with_every_timeout() {
    let reno = crate::cc::by_name("reno").expect("a controller of the crate");
    let config = Profile::Rfc2581.config(1000, reno);
    let mut s = Script::established(config.with(|c| c.window.initial = 16));
    s.write(16_000);
    s.advance_ms(1000);
    s.expect_windows(1000, 8000);
    s.advance_ms(2000);
    s.expect_windows(1000, 2000);
}

#[test]
fn karn_no_sample_from_a_segment_sent_twice_and_the_back_off_stays() {
    let mut s = flight(plain());
    s.advance_ms(1000);
    s.advance_ms(100);
    s.recv(". 1 ack 1001");
    assert_eq!(s.connection.smoothed_rtt(), Some(Span::from_millis(100)), "the handshake's");
    assert_eq!(s.connection.rto(), Span::from_secs(2));
    // 1001:3001 again, then 4001:5001 for the first time.
    s.recv(". 1 ack 4001");
    s.skip();
    assert_eq!(s.connection.rto(), Span::from_secs(2));
    s.advance_ms(300);
    s.recv(". 1 ack 5001");
    assert_eq!(s.connection.smoothed_rtt(), Some(Span::from_millis(125)));
    assert_eq!(s.connection.rto(), Span::from_secs(1));
}

#[test]
fn rfc7323_an_echoed_timestamp_identifies_the_copy_that_arrived() {
    let mut s = Script::established(plain().with(|c| c.extensions.timestamps = true));
    s.write(1000);
    s.skip();
    s.advance_ms(1000);
    s.expect(&[". 1:989 ack 1 TS 11100:1"]);
    s.advance_ms(50);
    s.recv(". 1 ack 989 TS 2:11100");
    // 50 ms for the second copy, rounded up by a tick of the timestamp clock: (7 * 100 + 51) / 8.
    let smoothed = s.connection.smoothed_rtt().expect("a sample");
    assert_eq!(smoothed.as_nanos(), 93_875_000);
    assert_eq!(s.connection.rto(), Span::from_secs(1));
}

#[test]
fn without_a_repair_the_timestamps_give_no_coarser_samples() {
    let mut s = Script::established(plain().with(|c| {
        c.extensions.timestamps = true;
        c.sending.nagle = false;
    }));
    s.write(100);
    s.write(100);
    s.skip();
    s.now += Span::from_micros(300);
    s.recv(". 1 ack 101 TS 2:10100");
    let smoothed = s.connection.smoothed_rtt();
    s.recv(". 1 ack 201 TS 2:10100");
    assert_eq!(s.connection.smoothed_rtt(), smoothed, "one sample for one run timed");
}

#[test]
fn the_retry_limit_fails_the_connection() {
    let mut s = flight(plain().with(|c| c.timers.max_retries = 2));
    s.advance_ms(1000 + 2000);
    s.expect(&[". 1:1001 ack 1", ". 1:1001 ack 1"]);
    s.advance_ms(3999);
    s.expect_state(State::Established);
    s.advance_ms(1);
    s.expect_nothing();
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::TimedOut)]);
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn new_data_acknowledged_starts_the_count_of_retries_anew() {
    let mut s = flight(plain().with(|c| c.timers.max_retries = 2));
    s.advance_ms(1000 + 2000);
    s.recv(". 1 ack 1001");
    s.advance_ms(4000 + 8000);
    s.expect_state(State::Established);
}

#[test]
fn data_written_during_the_repair_is_sent_after_it() {
    let mut s = Script::established(plain());
    s.write(4000);
    s.advance_ms(1000);
    s.skip();
    s.write(1000);
    s.expect_nothing();
    s.recv(". 1 ack 4001");
    s.expect(&["P. 4001:5001 ack 1"]);
}

#[test]
fn after_an_ack_beyond_the_retransmission_sending_continues_there() {
    let mut s = flight(plain());
    s.advance_ms(1000);
    s.skip();
    // Only the first segment was lost: the rest is not sent again.
    s.recv(". 1 ack 4001");
    s.expect(&[". 4001:5001 ack 1", ". 5001:6001 ack 1"]);
    assert_eq!(s.connection.stats().retransmitted_segments, 1);
}

#[test]
fn rfc3465_an_ack_after_a_timeout_counts_one_segment() {
    let growth = crate::config::Growth::PerByte { limit: 8 };
    let mut s = flight(plain().with(|c| c.growth.credit = growth));
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    // Only the first segment was late; the ACK of all four opens the window by one.
    s.recv(". 1 ack 3001");
    s.expect_windows(2000, 2000);
}

/// The first copy arrived, and its ACK was lost. The echoed timestamp is that of the first copy, so
/// its age contains the wait for the timer.
#[test]
fn an_ack_that_reports_a_duplicate_gives_no_rtt_sample() {
    for (dsack, smoothed_us) in [("", 225_125), (" sack 1:989", 100_000)] {
        let mut s = Script::established(plain().with(|c| {
            c.extensions.timestamps = true;
            c.extensions.sack = true;
            c.window.initial = 1;
        }));
        s.write(4000);
        s.skip();
        s.advance_ms(1000);
        s.expect(&[". 1:989 ack 1"]);
        s.advance_ms(100);
        s.recv(&format!(". 1 ack 989{dsack} TS 20:10100"));
        let smoothed = s.connection.smoothed_rtt();
        assert_eq!(smoothed, Some(Span::from_micros(smoothed_us)), "{dsack}");
    }
}
