//! Commands of a carrier: beginnings, errors of the path, its MTU, memory.

use super::script::{Script, plain};
use crate::SeqNumber;
use crate::conn::{Error, Event, State};

#[test]
fn a_connection_knows_the_sequence_number_of_its_syn() {
    let s = Script::connect(plain());
    let SeqNumber(isn) = super::script::LOCAL_ISN;
    assert!(s.connection.began_with(SeqNumber(isn)));
    assert!(!s.connection.began_with(SeqNumber(isn.wrapping_add(1))));
}

#[test]
fn an_error_of_the_path_fails_only_a_connection_that_is_being_opened() {
    let mut s = Script::established(plain());
    s.expect_events(&[Event::Connected]);
    s.connection.fail_opening(Error::Refused);
    s.expect_state(State::Established);
    let mut s = Script::connect(plain());
    s.connection.fail_opening(Error::Refused);
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::Refused)]);
}

#[test]
fn the_path_is_probed_only_with_sack_and_while_data_may_follow() {
    for (sack, may) in [(false, false), (true, true)] {
        let mut s = Script::established(plain().with(|c| c.extensions.sack = sack));
        assert_eq!(s.connection.may_probe_path(), may);
        s.close();
        assert!(!s.connection.may_probe_path(), "nothing follows");
    }
    let s = Script::connect(plain().with(|c| c.extensions.sack = true));
    assert!(!s.connection.may_probe_path());
}

#[test]
fn a_probe_of_the_path_repeats_what_was_acknowledged() {
    let mut s = Script::established(plain().with(|c| c.extensions.sack = true));
    s.write(1000);
    s.recv(". 1 ack 1001");
    let now = s.now;
    assert!(s.connection.path_probe(now, 1001).is_none(), "more than was acknowledged");
    let probe = s.connection.path_probe(now, 1000).expect("all that was acknowledged");
    assert_eq!((probe.seq, probe.payload_len), (super::script::LOCAL_ISN.at(1), 1000));
    assert_eq!(s.connection.path_probe(now, 400).map(|probe| probe.payload_len), Some(400));
}

#[test]
fn smaller_buffers_hold_less() {
    let mut s =
        Script::established(plain().with(|c| (c.buffers.send, c.buffers.receive) = (5000, 4000)));
    s.connection.limit_buffers(3000, 2000);
    assert_eq!((s.connection.writable(), s.connection.send_buffer()), (3000, 3000));
    s.connection.limit_buffers(u64::MAX, u64::MAX);
    assert_eq!(s.connection.writable(), 5000, "not beyond the configured buffer");
}

#[test]
fn getters_report_what_was_negotiated_and_measured() {
    for timestamps in [false, true] {
        let s = Script::established(plain().with(|c| c.extensions.timestamps = timestamps));
        assert_eq!(s.connection.timestamps_negotiated(), timestamps);
        assert_eq!(s.connection.min_rtt(), Some(crate::Span::from_millis(100)));
    }
    assert_eq!(Script::connect(plain()).connection.min_rtt(), None);
}

#[test]
fn the_receive_promise_is_the_window_and_what_is_unread() {
    let mut s = Script::established(plain());
    assert_eq!(s.connection.receive_promise(), 65_535);
    s.recv(". 1:1001 ack 1");
    assert_eq!(s.connection.receive_promise(), 66_535, "unread, or still to come");
    s.recv("F. 1001:1501 ack 1");
    assert_eq!(s.connection.receive_promise(), 1500, "nothing follows");
}

#[test]
fn a_controller_has_a_value_only_under_its_name() {
    use crate::cc::NewEcn;
    let s = Script::established(super::script::with_controller("new-ecn"));
    assert!(s.connection.trace_value(NewEcn::SLOPE).is_some());
    assert_eq!(s.connection.trace_value("another name"), None);
    let s = Script::established(plain());
    assert_eq!(s.connection.trace_value(NewEcn::SLOPE), None);
}

#[test]
fn another_path_without_losses_causes_no_retransmission() {
    let mut s = Script::established(plain());
    s.write(1000);
    s.skip();
    let now = s.now;
    s.connection.path_restored(now);
    assert_eq!(s.next_timer_ms(), Some(1000));
}

#[test]
fn another_path_after_losses_ends_the_wait_and_measures_the_rtt_anew() {
    let mut s = Script::established(plain());
    s.write(1000);
    s.skip();
    s.advance_ms(7000);
    assert_eq!(s.skip().len(), 3, "after 1, 3 and 7 s");
    let now = s.now;
    s.connection.path_restored(now);
    assert_eq!(s.connection.smoothed_rtt(), None);
    s.connection.handle_timeout(now, &mut ());
    s.drain();
    s.expect(&["P. 1:1001 ack 1"]);
}

/// RFC 9000 §9.4: a new path starts with the initial window, and losses on the old one say nothing
/// about it.
#[test]
fn another_path_starts_the_controller_anew() {
    let mut s = Script::established(plain());
    let initial = s.connection.cwnd();
    s.write(50_000);
    s.skip();
    s.advance_ms(7000);
    s.skip();
    assert!(s.connection.cwnd() < initial && s.connection.ssthresh() < 10_000, "timeouts");
    let now = s.now;
    s.connection.path_replaced(now);
    assert_eq!((s.connection.cwnd(), s.connection.ssthresh()), (initial, u64::MAX));
    s.connection.handle_timeout(now, &mut ());
    s.drain();
    assert_eq!(s.connection.cwnd(), initial, "the flight was lost on the old path");
    assert_eq!(s.skip().len() as f64, initial / 1000.0, "all of the window");
    // The retransmissions took the new path: their loss counts.
    s.advance_ms(2500);
    assert!(s.connection.cwnd() < initial);
    assert!(s.connection.ssthresh() < 10_000);
}

#[test]
fn a_limit_set_before_the_syn_is_announced_in_it_and_kept() {
    let mut s = Script::listen(plain());
    s.connection.limit_window(3000);
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 win 3000 mss 1000"]);
    s.recv(". 1 ack 1");
    assert_eq!(s.recv(". 3001:4001 ack 1").len, 0, "beyond the window");
    assert_eq!(s.recv(". 2001:3001 ack 1").len, 1000);
}
