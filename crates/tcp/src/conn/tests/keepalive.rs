//! RFC 9293 §3.8.4: probes on an idle connection.

use super::script::{Script, plain};
use crate::Span;
use crate::config::KeepAlive;
use crate::conn::{Error, Event, State};

fn keep_alive() -> Script {
    let keep_alive =
        KeepAlive { idle: Span::from_secs(60), interval: Span::from_secs(10), probes: 3 };
    let mut s = Script::established(plain().with(|c| c.timers.keep_alive = Some(keep_alive)));
    s.expect_events(&[Event::Connected]);
    s
}

#[test]
fn an_idle_connection_is_probed_with_a_number_acknowledged_already() {
    let mut s = keep_alive();
    s.advance_ms(59_999);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&[". 0 ack 1"]);
}

#[test]
fn an_answer_begins_the_idle_time_anew() {
    let mut s = keep_alive();
    s.advance_ms(70_000);
    s.expect(&[". 0 ack 1", ". 0 ack 1"]);
    s.recv(". 1 ack 1");
    s.advance_ms(59_999);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&[". 0 ack 1"]);
}

#[test]
fn unanswered_probes_fail_the_connection() {
    let mut s = keep_alive();
    s.advance_ms(89_999);
    s.expect(&[". 0 ack 1", ". 0 ack 1", ". 0 ack 1"]);
    s.expect_state(State::Established);
    s.advance_ms(1);
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::TimedOut)]);
}

#[test]
fn the_peers_probe_is_answered() {
    let mut s = Script::established(plain());
    s.recv(". 0 ack 1");
    s.expect(&[". 1 ack 1"]);
    s.recv(". 0:1 ack 1");
    s.expect(&[". 1 ack 1"]);
}

#[test]
fn no_keep_alive_probe_is_sent_while_data_is_in_flight() {
    let mut s = keep_alive();
    s.write(1000);
    s.advance_ms(120_000);
    s.expect_state(State::Established);
    assert_eq!(s.skip().len(), 7, "the segment and six retransmissions: 1, 3, 7, 15, 31, 63 s");
}

#[test]
fn without_the_option_nothing_is_ever_sent() {
    let mut s = Script::established(plain());
    assert_eq!(s.connection.poll_timeout(), None);
    s.advance_ms(10_000_000);
    s.expect_nothing();
}
