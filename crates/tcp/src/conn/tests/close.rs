//! RFC 9293 §3.6, §3.10.4, §3.10.5: every way in which a connection ends.

use super::script::{Script, plain};
use crate::conn::{Error, Event, State};

fn connected() -> Script {
    let mut s = Script::established(plain());
    s.expect_events(&[Event::Connected]);
    s
}

#[test]
fn close_here_first() {
    let mut s = connected();
    s.close();
    s.expect(&["F. 1 ack 1"]);
    s.expect_state(State::FinWait1);
    s.recv(". 1 ack 2");
    s.expect_state(State::FinWait2);
    assert_eq!(s.connection.poll_timeout(), None);
    s.recv("F. 1 ack 2");
    s.expect(&[". 2 ack 2"]);
    s.expect_state(State::TimeWait);
    s.expect_events(&[Event::Readable, Event::PeerClosed, Event::Delivered, Event::Closed]);
    s.advance_ms(59_999);
    s.expect_state(State::TimeWait);
    s.advance_ms(1);
    s.expect_state(State::Closed);
    s.expect_nothing();
    s.expect_events(&[]);
}

#[test]
fn the_peers_fin_may_acknowledge_this_ends() {
    let mut s = connected();
    s.close();
    s.skip();
    s.recv("F. 1 ack 2");
    s.expect(&[". 2 ack 2"]);
    s.expect_state(State::TimeWait);
}

#[test]
fn close_by_the_peer_first() {
    let mut s = connected();
    s.recv("F. 1 ack 1");
    s.expect(&[". 1 ack 2"]);
    s.expect_state(State::CloseWait);
    s.expect_events(&[Event::Readable, Event::PeerClosed]);
    assert_eq!(s.connection.read(10), Err(Error::Closed));
    s.close();
    s.expect(&["F. 1 ack 2"]);
    s.expect_state(State::LastAck);
    s.recv(". 2 ack 2");
    s.expect_state(State::Closed);
    s.expect_nothing();
    s.expect_events(&[Event::Delivered, Event::Closed]);
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn simultaneous_close() {
    let mut s = connected();
    s.close();
    s.expect(&["F. 1 ack 1"]);
    s.recv("F. 1 ack 1");
    s.expect(&[". 2 ack 2"]);
    s.expect_state(State::Closing);
    s.recv(". 2 ack 2");
    s.expect_state(State::TimeWait);
    s.advance_ms(60_000);
    s.expect_state(State::Closed);
}

#[test]
fn a_repeated_fin_restarts_time_wait() {
    let mut s = connected();
    s.close();
    s.recv("F. 1 ack 2");
    s.skip();
    s.advance_ms(50_000);
    s.recv("F. 1 ack 2");
    s.expect(&[". 2 ack 2"]);
    s.advance_ms(59_999);
    s.expect_state(State::TimeWait);
    s.advance_ms(1);
    s.expect_state(State::Closed);
}

#[test]
fn a_fin_comes_with_data_and_waits_for_data_before_it() {
    let mut s = connected();
    s.recv("FP. 1001:1501 ack 1");
    s.expect(&[". 1 ack 1"]);
    s.expect_state(State::Established);
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 1 ack 1502"]);
    s.expect_state(State::CloseWait);
    s.read(1500);
    assert_eq!(s.connection.read(1), Err(Error::Closed));
}

#[test]
fn a_fin_out_of_order_brings_a_duplicate_ack() {
    let mut s = connected();
    s.write(100);
    s.write(200);
    s.skip();
    s.recv("F. 1001 ack 101");
    s.expect(&[". 101 ack 1", "P. 101:301 ack 1"]);
}

#[test]
fn a_fin_whose_data_was_cut_at_the_window_is_not_taken() {
    let mut s = Script::established(plain().with(|c| c.buffers.receive = 1000));
    s.recv("FP. 1:1501 ack 1");
    s.expect(&[". 1 ack 1001 win 0"]);
    s.expect_state(State::Established);
    assert_eq!(s.connection.readable(), 1000);
    s.read(1000);
    s.expect(&[". 1 ack 1001 win 1000"]);
    s.recv("FP. 1001:1501 ack 1");
    s.expect(&[". 1 ack 1502"]);
    s.expect_state(State::CloseWait);
}

#[test]
fn a_fin_after_data_that_fills_the_window_is_taken() {
    let mut s = Script::established(plain().with(|c| c.buffers.receive = 1000));
    s.recv("FP. 1:1001 ack 1");
    s.expect(&[". 1 ack 1002 win 0"]);
    s.expect_state(State::CloseWait);
}

#[test]
fn data_beyond_a_fin_is_not_part_of_the_stream() {
    let mut s = connected();
    s.recv("F. 501 ack 1");
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 1 ack 1", ". 1 ack 502"]);
    s.expect_state(State::CloseWait);
    assert_eq!(s.connection.readable(), 500);
}

#[test]
fn a_fin_before_data_already_received_is_ignored() {
    let mut s = connected();
    s.recv(". 501:502 ack 1");
    s.recv("F. 1:501 ack 1");
    s.skip();
    s.expect_state(State::Established);
    assert_eq!(s.connection.readable(), 501);
    s.recv("F. 502 ack 1");
    s.expect_state(State::CloseWait);
}

#[test]
fn half_close_with_data_the_other_way() {
    let mut s = connected();
    s.close();
    s.recv(". 1:1001 ack 2");
    s.expect(&["F. 1 ack 1", ". 2 ack 1001"]);
    s.expect_state(State::FinWait2);
    s.recv(". 1001:2001 ack 2");
    s.read(2000);
    s.recv("F. 2001 ack 2");
    s.expect(&[". 2 ack 2001", ". 2 ack 2002"]);
    s.expect_state(State::TimeWait);

    let mut s = connected();
    s.recv("F. 1 ack 1");
    s.write(1500);
    s.recv(". 2 ack 1001");
    s.expect(&[". 1 ack 2", ". 1:1001 ack 2", "P. 1001:1501 ack 2"]);
    s.recv(". 2 ack 1501");
    s.close();
    s.expect(&["F. 1501 ack 2"]);
}

#[test]
fn the_fin_rides_on_the_last_data() {
    let mut s = connected();
    s.connection.write(1500).expect("open");
    s.close();
    s.expect(&[". 1:1001 ack 1", "FP. 1001:1501 ack 1"]);
    s.recv(". 1 ack 1501");
    s.expect_state(State::FinWait1);
    s.recv(". 1 ack 1502");
    s.expect_state(State::FinWait2);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut s = connected();
    s.close();
    s.advance_ms(3000);
    s.expect(&["F. 1 ack 1", "F. 1 ack 1", "F. 1 ack 1"]);
    assert_eq!(s.connection.stats().retransmitted_segments, 0, "a FIN is no payload");
    s.recv("F. 1 ack 1");
    s.expect_state(State::Closing);
    s.advance_ms(4000);
    s.expect(&[". 2 ack 2", "F. 1 ack 2"]);
    s.recv(". 2 ack 2");
    s.expect_state(State::TimeWait);
}

#[test]
fn a_lost_fin_is_sent_again_with_the_data_before_it() {
    let mut s = connected();
    s.connection.write(500).expect("open");
    s.close();
    s.expect(&["FP. 1:501 ack 1"]);
    s.advance_ms(1000);
    s.expect(&["FP. 1:501 ack 1"]);
    s.recv(". 1 ack 501");
    s.expect_nothing();
    s.advance_ms(2000);
    s.expect(&["F. 501 ack 1"]);
}

#[test]
fn data_after_close_is_refused() {
    let mut s = connected();
    s.close();
    assert_eq!(s.connection.write(1), Err(Error::Closed));
    assert_eq!(s.connection.writable(), 0);
    s.close();
    s.expect(&["F. 1 ack 1"]);
}

#[test]
fn data_after_the_peers_fin_is_acknowledged_and_discarded() {
    let mut s = connected();
    s.recv("F. 1 ack 1");
    s.skip();
    s.recv("P. 2:102 ack 1");
    s.expect(&[". 1 ack 2"]);
    assert_eq!(s.connection.readable(), 0);
}

#[test]
fn abort_resets_the_peer() {
    let mut s = connected();
    s.write(1000);
    s.skip();
    s.abort();
    s.expect(&["R. 1001 ack 1"]);
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::Aborted)]);
    assert_eq!(s.connection.poll_timeout(), None);
    assert_eq!(s.connection.write(1), Err(Error::Closed));
    assert_eq!(s.connection.read(1), Err(Error::Closed));
}

#[test]
fn rfc7323_3_2_the_reset_of_an_abort_has_the_timestamp_of_its_time() {
    let mut s = Script::established(plain().with(|c| c.extensions.timestamps = true));
    s.recv(". 1:101 ack 1 TS 500:10000");
    s.skip();
    s.advance_ms(1000);
    s.abort();
    s.expect(&["R. 1 ack 101 TS 11100:500"]);
}

#[test]
fn the_reset_of_an_abort_after_a_timeout_lies_after_all_data_sent() {
    let mut s = connected();
    s.write(4000);
    s.advance_ms(1000);
    s.skip();
    s.abort();
    s.expect(&["R. 4001 ack 1"]);
}

/// The peer may have taken the probe or not, and takes a reset at RCV.NXT only.
#[test]
fn an_abort_after_a_window_probe_resets_at_both_sides_of_the_probe() {
    let mut s = connected();
    s.recv(". 1 ack 1 win 0");
    s.write(1000);
    s.advance_ms(1000);
    s.expect(&[". 1:2 ack 1"]);
    s.abort();
    s.expect(&["R. 1 ack 1", "R. 2 ack 1"]);
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::Aborted)]);
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn acks_after_a_timeout_lie_after_all_data_sent() {
    let mut s = connected();
    s.write(4000);
    s.advance_ms(1000);
    s.skip();
    s.recv(". 1:1001 ack 1");
    s.expect(&[". 4001 ack 1001"]);
}

#[test]
fn an_abort_before_the_connection_is_open_sends_nothing() {
    let mut s = Script::connect(plain());
    s.skip();
    s.abort();
    s.expect_nothing();
    s.expect_events(&[Event::Failed(Error::Aborted)]);
}

#[test]
fn an_abort_in_time_wait_sends_nothing() {
    let mut s = connected();
    s.close();
    s.recv("F. 1 ack 2");
    s.skip();
    s.expect_events(&[Event::Readable, Event::PeerClosed, Event::Delivered, Event::Closed]);
    s.abort();
    s.expect_nothing();
    s.expect_state(State::Closed);
    s.expect_events(&[]);
}

#[test]
fn a_reset_ends_every_state() {
    let closing: [(&[&str], bool, Error); 4] = [
        (&[], true, Error::Reset),
        (&[". 1 ack 2"], true, Error::Reset),
        (&["F. 1 ack 1"], true, Error::Reset),
        (&["F. 1 ack 1"], false, Error::Reset),
    ];
    for (lines, close, error) in closing {
        let mut s = connected();
        if close {
            s.close();
        }
        s.recv_all(lines);
        let position = if lines.iter().any(|line| line.starts_with('F')) { 2 } else { 1 };
        s.recv(&alloc::format!("R {position}"));
        s.expect_state(State::Closed);
        let failed = core::iter::from_fn(|| s.connection.poll_event())
            .any(|event| event == Event::Failed(error));
        assert!(failed, "{lines:?}");
    }
}

#[test]
fn a_reset_in_time_wait_ends_it_without_an_error() {
    let mut s = connected();
    s.close();
    s.recv("F. 1 ack 2");
    s.recv("R 2");
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Readable, Event::PeerClosed, Event::Delivered, Event::Closed]);
}

#[test]
fn segments_after_the_end_are_answered_by_a_reset() {
    let mut s = connected();
    s.abort();
    s.skip();
    s.recv("P. 1:101 ack 1");
    s.expect(&["R 1"]);
    s.recv("R 1");
    s.expect_nothing();
}

#[test]
fn a_closed_connection_with_a_due_ack_leaves_no_timer() {
    let delayed = crate::config::AckPolicy::Delayed { max: crate::Span::from_millis(200) };
    let mut s = Script::established(plain().with(|c| c.acks.policy = delayed));
    s.recv("P. 1:101 ack 1");
    s.abort();
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn a_fin_is_not_sent_again_beyond_the_peers_window() {
    let mut s = Script::established(plain());
    s.write(1000);
    s.close();
    s.recv(". 1 ack 1 win 1001");
    let fin = s.connection.retransmission_at(1001, 1002).map(|data| data.segment);
    assert_eq!(fin, Some(0));
    let mut s = Script::established(plain());
    s.write(1000);
    s.close();
    s.recv("P. 1:2 ack 1 win 1000");
    assert!(s.connection.retransmission_at(1001, 1002).is_none());
}

#[test]
fn the_ack_of_a_fin_in_order_rides_on_data() {
    let mut s = Script::established(plain());
    s.take("F. 1 ack 1");
    s.write(100);
    s.expect(&["P. 1:101 ack 2"]);
}
