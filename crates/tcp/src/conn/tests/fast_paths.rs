//! Cases in which a fast path must not be taken, or must decide as the general path does.
//!
//! Each script drives two connections, with and without fast paths (`super::compared`), which must
//! stay equal. Each test leads to one condition of a fast path that nothing else excludes.

use super::script::{Script, plain};
use crate::conn::{Error, Event, State};
use crate::{Config, Span};

/// Established, with options that leave the fast paths open: no Nagle, no restart after idle time.
fn configured(change: impl FnOnce(&mut Config)) -> Script {
    let mut config = plain();
    config.sending.nagle = false;
    config.window.idle_restart = false;
    change(&mut config);
    Script::established(config)
}

/// `segments` in flight, as many as the initial window; `written` bytes in the buffer.
fn flight(segments: u32, written: u64, change: impl FnOnce(&mut Config)) -> Script {
    let mut s = configured(|config| {
        config.window.initial = segments;
        change(config);
    });
    s.write(written);
    assert_eq!(s.skip().len(), segments as usize);
    s
}

// `plain_ack`: an ACK of new data without any other signal.

#[test]
fn an_ack_of_the_fin_changes_the_state() {
    let mut s = configured(|_| ());
    s.write(1000);
    s.close();
    s.recv(". 1 ack 1002");
    s.expect_state(State::FinWait2);
}

#[test]
fn an_ack_of_the_syn_ack_ends_the_handshake() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.recv(". 1 ack 1");
    s.expect_state(State::Established);
}

#[test]
fn an_ack_with_an_echo_reduces_the_window() {
    let mut s = flight(8, 30_000, |config| config.ecn.enabled = true);
    s.recv("E. 1 ack 1001");
    assert_eq!(s.connection.stats().ecn_cuts, 1);
}

#[test]
fn an_ack_with_sack_blocks_marks_them() {
    let mut s = flight(8, 8000, |config| config.extensions.sack = true);
    s.recv(". 1 ack 1001 sack 3001:4001");
    assert_eq!(s.connection.pipe(), 6000);
}

#[test]
fn an_ack_with_rack_arms_the_tail_probe() {
    let mut s = flight(3, 3000, |config| {
        config.extensions.sack = true;
        config.recovery.rack = true;
        config.recovery.tail_loss_probe = true;
    });
    s.advance_ms(100);
    s.recv(". 1 ack 1001");
    assert_eq!(s.next_timer_ms(), Some(200), "two round trips from this ACK on");
}

#[test]
fn a_partial_ack_without_blocks_moves_the_rate_reduction_on() {
    let mut s = flight(20, 90_000, |config| {
        config.extensions.sack = true;
        config.recovery.prr = true;
    });
    s.recv(". 1 ack 1 sack 1001:4001");
    s.skip();
    let before = s.connection.congestion_window_in_force();
    s.recv(". 1 ack 5001");
    assert_ne!(s.connection.congestion_window_in_force(), before);
}

#[test]
fn an_ack_that_repeats_another_is_a_duplicate() {
    let mut s = flight(8, 8000, |_| ());
    s.recv_times(3, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
}

#[test]
fn an_ack_of_data_never_sent_is_challenged() {
    let mut s = flight(2, 2000, |_| ());
    s.recv(". 1 ack 2002");
    s.expect(&[". 2001 ack 1"]);
    assert_eq!(s.connection.bytes_acked(), 0);
}

#[test]
fn an_ack_of_the_last_byte_sent_is_taken() {
    let mut s = flight(2, 2000, |_| ());
    s.recv(". 1 ack 2001");
    s.expect_nothing();
    assert_eq!(s.connection.bytes_acked(), 2000);
}

// `repeats_last_ack`: data whose ACK has no news.

#[test]
fn data_before_the_end_of_the_handshake_must_acknowledge_it() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000 win 1000");
    s.skip();
    // The same right edge of the window as the SYN's.
    s.recv("P. 1:101 ack 0 win 1001");
    s.expect(&["R 0"]);
    assert_eq!(s.connection.readable(), 0);
}

#[test]
fn data_may_acknowledge_data() {
    let mut s = flight(2, 2000, |_| ());
    s.recv("P. 1:101 ack 1001");
    assert_eq!(s.connection.bytes_acked(), 1000);
}

#[test]
fn data_may_carry_an_echo() {
    let mut s = flight(8, 30_000, |config| config.ecn.enabled = true);
    s.recv(". 1 ack 1001");
    s.recv("PE. 1:101 ack 1001");
    assert_eq!(s.connection.stats().ecn_cuts, 1);
}

#[test]
fn data_may_carry_sack_blocks() {
    let mut s = flight(8, 8000, |config| config.extensions.sack = true);
    s.recv("P. 1:101 ack 1 sack 3001:4001");
    assert_eq!(s.connection.pipe(), 7000);
}

#[test]
fn data_may_open_the_window() {
    let mut s = configured(|_| ());
    s.recv(". 1 ack 1 win 1000");
    s.write(2000);
    s.skip();
    s.recv("P. 1:101 ack 1 win 2000");
    s.expect(&["P. 1001:2001 ack 101"]);
}

#[test]
fn data_answers_a_window_probe() {
    let mut s = configured(|config| config.timers.max_retries = 3);
    s.recv(". 1 ack 1 win 0");
    s.write(1000);
    s.advance_ms(7000);
    // Three probes are unanswered; the fourth would be one too many.
    s.recv("P. 1:101 ack 1 win 0");
    s.advance_ms(8000);
    s.expect_state(State::Established);
    s.advance_ms(120_000);
    s.expect_events(&[Event::Connected, Event::Readable, Event::Failed(Error::TimedOut)]);
}

#[test]
fn data_finds_a_loss_that_is_due_before_the_timer_runs() {
    let mut s = flight(2, 2000, |config| {
        config.extensions.sack = true;
        config.recovery.rack = true;
    });
    s.advance_ms(100);
    s.recv(". 1 ack 1 sack 1001:2001");
    s.skip();
    // The carrier calls late: the reordering window of 25 ms has passed.
    s.now += Span::from_millis(30);
    s.recv("P. 1:101 ack 1");
    s.expect(&[". 1:1001 ack 101"]);
}

// `is_plain` and `fill_next`: only new data or an ACK can be next to send.

#[test]
fn a_due_pure_ack_is_sent_before_data() {
    let mut s = configured(|_| ());
    s.connection.write(1000).expect("open");
    s.take("P. 2001:3001 ack 1");
    s.drain();
    s.expect(&[". 1 ack 1", "P. 1:1001 ack 1"]);
}

#[test]
fn a_window_probe_goes_out() {
    let mut s = configured(|_| ());
    s.recv(". 1 ack 1 win 0");
    s.write(1000);
    s.advance_ms(1000);
    s.expect(&[". 1:2 ack 1"]);
}

#[test]
fn a_tail_probe_goes_out() {
    let mut s = flight(3, 3000, |config| {
        config.extensions.sack = true;
        config.recovery.rack = true;
        config.recovery.tail_loss_probe = true;
    });
    s.advance_ms(200);
    s.expect(&["P. 2001:3001 ack 1"]);
}

#[test]
fn a_keep_alive_probe_is_sent() {
    let second = Span::from_secs(1);
    let mut s = configured(|config| {
        let keep_alive = crate::config::KeepAlive { idle: second, interval: second, probes: 3 };
        config.timers.keep_alive = Some(keep_alive);
    });
    s.advance_ms(1000);
    s.expect(&[". 0 ack 1"]);
}

#[test]
fn a_lost_segment_goes_before_new_data() {
    let mut s = flight(8, 30_000, |config| config.extensions.sack = true);
    s.recv(". 1 ack 1 sack 1001:4001");
    assert_eq!(s.skip().first().map(|run| run.retransmission), Some(true));
}

#[test]
fn after_an_idle_time_the_window_restarts() {
    let mut s = flight(2, 8000, |config| config.window.idle_restart = true);
    for ack in [2001, 4001, 6001, 8001] {
        s.recv(&alloc::format!(". 1 ack {ack}"));
    }
    s.skip();
    assert!(s.connection.cwnd() > 2000.0);
    s.advance_ms(60_000);
    s.write(10_000);
    assert_eq!(s.skip().len(), 2);
}

#[test]
fn a_paced_sender_sends_in_bursts() {
    let mut s = configured(|config| {
        config.sending.pacing = true;
        config.window.initial = 10;
    });
    s.write(60_000);
    s.skip();
    s.advance_ms(100);
    s.recv(". 1 ack 10001");
    let at_once = s.skip().len();
    assert!(at_once < 10, "{at_once} segments at once");
}

#[test]
fn an_ack_is_sent_where_no_data_can_carry_it() {
    let mut s = configured(|_| ());
    s.recv("P. 1:101 ack 1");
    s.expect(&[". 1 ack 101"]);
}

#[test]
fn a_run_is_the_last_only_if_nothing_follows() {
    let mut s = configured(|config| config.window.initial = 4);
    s.write(30_000);
    let last = |s: &mut Script| -> alloc::vec::Vec<bool> {
        s.skip().iter().map(|run| run.is_last).collect()
    };
    assert_eq!(last(&mut s), [false, false, false, true], "held back by cwnd");
    s.recv(". 1 ack 2001");
    assert_eq!(last(&mut s), [false, false, true]);
}
