//! RFC 9293 §3.8.6.1: a window that closes, and the probes that find out when it opens.

use super::script::{Script, plain};
use crate::conn::{Error, Event, State};
use crate::{Config, RangeSet, Span};
use alloc::format;

/// 5000 bytes written, nothing sent: the peer's window is closed.
fn closed_window(config: Config) -> Script {
    let mut s = Script::established(config);
    s.expect_events(&[Event::Connected]);
    s.recv(". 1 ack 1 win 0");
    s.write(5000);
    s.expect_nothing();
    s
}

#[test]
fn probes_back_off_and_go_on_as_long_as_the_peer_answers() {
    let mut s = closed_window(plain().with(|c| c.timers.max_retries = 3));
    for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        s.advance_ms(wait * 1000 - 1);
        s.expect_nothing();
        s.advance_ms(1);
        s.expect(&[". 1:2 ack 1"]);
        s.recv(". 1 ack 1 win 0");
        s.expect_nothing();
    }
    s.expect_state(State::Established);
    assert_eq!(s.connection.stats().timeouts, 0);
    assert_eq!(s.connection.cwnd(), 4000.0, "a closed window is no congestion");
}

#[test]
fn unanswered_probes_fail_the_connection() {
    let mut s = closed_window(plain().with(|c| c.timers.max_retries = 3));
    s.advance_ms(14_999);
    s.expect(&[". 1:2 ack 1", ". 1:2 ack 1", ". 1:2 ack 1"]);
    s.expect_state(State::Established);
    s.advance_ms(1);
    s.expect_nothing();
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::TimedOut)]);
}

#[test]
fn a_window_that_opens_starts_the_flow_with_the_old_rto() {
    let mut s = closed_window(plain());
    s.advance_ms(1000 + 2000 + 4000);
    s.recv(". 1 ack 1 win 0");
    s.skip();
    s.recv(". 1 ack 1 win 2000");
    s.expect(&[". 1:1001 ack 1", ". 1001:2001 ack 1"]);
    assert_eq!(s.next_timer_ms(), Some(1000));
}

#[test]
fn the_byte_of_a_probe_may_be_taken() {
    let mut s = closed_window(plain());
    s.advance_ms(1000);
    s.expect(&[". 1:2 ack 1"]);
    s.recv(". 1 ack 2 win 0");
    s.expect_nothing();
    s.advance_ms(2000);
    s.expect(&[". 2:3 ack 1"]);
    s.recv(". 1 ack 3 win 1000");
    s.expect(&[". 3:1003 ack 1"]);
}

#[test]
fn a_probe_is_not_in_flight_and_acks_stay_inside_the_window() {
    let mut s = closed_window(plain());
    s.advance_ms(1000);
    s.skip();
    assert_eq!(s.connection.in_flight(), 0);
    s.recv("P. 1:101 ack 1 win 0");
    s.expect(&[". 1 ack 101"]);
}

#[test]
fn rfc9293_the_override_timeout_sends_the_bytes_that_fit_a_small_window() {
    let mut s = Script::established(plain());
    s.recv(". 1 ack 1 win 300");
    s.write(5000);
    s.advance_ms(999);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&[". 1:301 ack 1"]);
    s.recv(". 1 ack 301 win 2000");
    s.expect(&[". 301:1301 ack 1", ". 1301:2301 ack 1"]);
}

#[test]
fn a_window_closed_over_data_in_flight_is_probed_without_a_cut() {
    let mut s = Script::established(plain().with(|c| c.window.idle_restart = false));
    s.write(4000);
    s.skip();
    s.recv(". 1 ack 1001 win 0");
    s.expect_nothing();
    let (cwnd, ssthresh) = (s.connection.cwnd(), s.connection.ssthresh());
    s.advance_ms(1000);
    s.expect_nothing();
    s.advance_ms(1000);
    s.expect(&[". 1001:1002 ack 1"]);
    s.recv(". 1 ack 1001 win 65535");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1", "P. 3001:4001 ack 1"]);
    assert_eq!((s.connection.cwnd(), s.connection.ssthresh()), (cwnd, ssthresh));
    s.recv(". 1 ack 4001");
    assert_eq!(s.connection.in_flight(), 0);
}

#[test]
fn a_window_closed_in_fast_recovery_goes_on_where_it_stopped() {
    let mut s = Script::established(plain().with(|c| {
        c.extensions.sack = true;
        c.window.initial = 6;
    }));
    s.write(6000);
    s.recv_all(&[". 1 ack 1 sack 1001:2001", ". 1 ack 1 sack 1001:3001"]);
    s.recv(". 1 ack 1 sack 1001:4001");
    s.recv(". 1 ack 1 win 0");
    s.skip();
    s.advance_ms(3000);
    s.expect(&[". 1:2 ack 1"]);
    s.recv(". 1 ack 1 win 65535");
    s.expect(&[". 1:1001 ack 1", ". 4001:5001 ack 1", "P. 5001:6001 ack 1"]);
}

#[test]
fn nothing_is_sent_again_beyond_a_window_that_shrank() {
    let mut s = Script::established(plain());
    s.write(4000);
    s.skip();
    s.recv(". 1 ack 1 win 1500");
    s.advance_ms(1000);
    s.expect(&[". 1:1001 ack 1"]);
    let mut s = Script::established(plain());
    s.write(4000);
    s.skip();
    s.recv(". 1 ack 1 win 600");
    s.window = 600;
    s.recv_all(&[". 1 ack 1", ". 1 ack 1", ". 1 ack 1"]);
    s.expect(&[". 1:601 ack 1"]);
}

#[test]
fn a_fin_waits_for_a_closed_window() {
    let mut s = Script::established(plain());
    s.recv(". 1 ack 1 win 0");
    s.close();
    s.expect_nothing();
    s.advance_ms(1000);
    s.expect(&["F. 1 ack 1"]);
    s.recv(". 1 ack 1 win 0");
    s.advance_ms(2000);
    s.expect(&["F. 1 ack 1"]);
    s.recv(". 1 ack 1 win 1");
    s.expect(&["F. 1 ack 1"]);
    s.recv(". 1 ack 2");
    s.expect_state(State::FinWait2);
}

#[test]
fn the_fin_of_a_probe_may_be_taken() {
    let mut s = Script::established(plain());
    s.recv(". 1 ack 1 win 0");
    s.close();
    s.advance_ms(1000);
    s.recv(". 1 ack 2 win 0");
    s.expect_state(State::FinWait2);
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn a_fin_does_not_ride_on_data_that_fills_the_window() {
    let mut s = Script::established(plain());
    s.recv(". 1 ack 1 win 1000");
    s.connection.write(1000).expect("open");
    s.close();
    s.expect(&["P. 1:1001 ack 1"]);
    s.recv(". 1 ack 1001 win 0");
    s.expect_nothing();
    s.recv(". 1 ack 1001 win 1000");
    s.expect(&["F. 1001 ack 1"]);
}

#[test]
fn the_window_of_an_older_segment_is_ignored() {
    let mut s = Script::established(plain());
    s.recv(". 1:101 ack 1 win 5000");
    s.recv(". 201:301 ack 1 win 8000");
    // RFC 9293 §3.10.7.4: SND.WL1 keeps the window of the later segment.
    s.recv(". 101:201 ack 1 win 2000");
    assert_eq!(s.connection.peer_window_edge(), 8000);
}

/// Found by fuzzing. An ACK after a timeout moved SND.NXT to SACKed data. The sender treated this
/// as a closed window, and its probe was still due after all data had been sent.
#[test]
fn sacked_data_does_not_count_as_a_closed_window() {
    let mut s = Script::established(plain().with(|c| c.extensions.sack = true));
    s.write(3000);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.skip();
    let expire = |s: &mut Script| {
        let due_ms = s.next_timer_ms().expect("the retransmission timer");
        s.now += Span::from_millis(due_ms + 1);
        s.connection.handle_timeout(s.now, &mut ());
    };
    expire(&mut s);
    s.take(". 1 ack 1001");
    expire(&mut s);
    assert_eq!(s.connection.stats().timeouts, 2, "no probe");
    s.drain();
    s.expect(&[". 1001:2001 ack 1"]);
}

#[test]
fn acks_of_a_closed_window_do_not_put_the_probe_off() {
    let mut s = closed_window(plain());
    for _ in 0..4 {
        s.advance_ms(200);
        s.recv(". 1 ack 1 win 0");
    }
    s.expect_nothing();
    s.advance_ms(200);
    s.expect(&[". 1:2 ack 1"]);
}

#[test]
fn data_beyond_too_many_gaps_is_not_accepted() {
    let mut s = Script::established(plain());
    for piece in 1..=RangeSet::MAX_RANGES as u64 {
        let start = 1 + 2 * piece;
        assert_eq!(s.recv(&format!(". {start}:{} ack 1", start + 1)).len, 1);
    }
    let start = 3 + 2 * RangeSet::MAX_RANGES as u64;
    assert_eq!(s.recv(&format!(". {start}:{} ack 1", start + 1)).len, 0);
}
