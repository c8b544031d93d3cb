//! RFC 9293 §3.5 and §3.10.7.2 to §3.10.7.4: opening a connection.

use super::script::{Script, plain, with_controller};
use crate::conn::{Error, Event, State};
use crate::{Config, Profile};

fn everything_offered() -> Config {
    super::config(Profile::Rfc5681, "newreno")
}

fn ecn() -> Config {
    plain().with(|c| c.ecn.enabled = true)
}

#[test]
fn active_open() {
    let mut s = Script::connect(plain());
    s.expect(&["S 0 mss 1000"]);
    s.expect_state(State::SynSent);
    s.recv("S. 0 ack 1 mss 1000");
    s.expect(&[". 1 ack 1"]);
    s.expect_state(State::Established);
    s.expect_events(&[Event::Connected]);
}

#[test]
fn passive_open() {
    let mut s = Script::listen(plain());
    s.expect_nothing();
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    s.expect_state(State::SynReceived);
    s.expect_events(&[]);
    s.recv(". 1 ack 1");
    s.expect_nothing();
    s.expect_state(State::Established);
    s.expect_events(&[Event::Connected]);
}

#[test]
fn data_on_the_ack_of_the_syn_ack_is_taken() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.skip();
    s.recv("P. 1:501 ack 1");
    s.expect(&[". 1 ack 501"]);
    assert_eq!(s.connection.readable(), 500);
}

#[test]
fn simultaneous_open() {
    let mut s = Script::connect(plain());
    s.skip();
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    s.expect_state(State::SynReceived);
    // The peer answers this end's SYN in the same way: a SYN below the window brings an ACK.
    s.recv("S. 0 ack 1 mss 1000");
    s.expect(&[". 1 ack 1"]);
    s.recv(". 1 ack 1");
    s.expect_state(State::Established);
    s.expect_events(&[Event::Connected]);
}

#[test]
fn a_lost_syn_is_sent_again_with_back_off_until_the_retry_limit() {
    let mut s = Script::connect(plain().with(|c| c.timers.max_syn_retries = 3));
    s.expect(&["S 0 mss 1000"]);
    for wait in [1000, 2000, 4000] {
        s.advance_ms(wait - 1);
        s.expect_nothing();
        s.advance_ms(1);
        s.expect(&["S 0 mss 1000"]);
    }
    s.advance_ms(7999);
    s.expect_state(State::SynSent);
    s.advance_ms(1);
    s.expect_nothing();
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::TimedOut)]);
    assert_eq!(s.connection.poll_timeout(), None);
}

#[test]
fn a_lost_syn_ack_is_sent_again_by_the_timer_and_for_a_repeated_syn() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    s.advance_ms(1000);
    s.expect(&["S. 0 ack 1 mss 1000"]);
    s.advance_ms(500);
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    s.recv(". 1 ack 1");
    s.expect_state(State::Established);
}

#[test]
fn rfc5961_another_syn_in_syn_received_is_challenged() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.skip();
    s.recv("S 500 mss 1000");
    s.expect(&[". 1 ack 1"]);
    s.expect_state(State::SynReceived);
}

#[test]
fn rfc6298_after_a_lost_syn_the_first_rto_is_three_seconds() {
    let mut s = Script::connect(plain());
    s.advance_ms(1000);
    s.recv("S. 0 ack 1 mss 1000");
    s.write(1000);
    s.skip();
    s.advance_ms(2999);
    s.expect_nothing();
    s.advance_ms(1);
    s.expect(&["P. 1:1001 ack 1"]);
}

#[test]
fn rfc5681_after_a_lost_syn_the_initial_window_is_one_segment() {
    let mut s = Script::connect(plain());
    s.advance_ms(1000);
    s.recv("S. 0 ack 1 mss 1000");
    assert_eq!(s.connection.cwnd(), 1000.0);
}

/// Those that pace ignore a restart after idle time, but not this.
#[test]
fn rfc5681_after_a_lost_syn_every_controller_has_an_initial_window_of_one_segment() {
    for name in crate::cc::NAMES.into_iter().filter(|name| *name != "none") {
        let mut s = Script::connect(with_controller(name));
        s.advance_ms(1000);
        s.recv("S. 0 ack 1 mss 1000");
        assert_eq!(s.connection.cwnd(), 1000.0, "{name}");
    }
}

#[test]
fn another_controller_before_data_flows_begins_where_the_first_one_would_have() {
    let vegas = super::config(Profile::Rfc5681, "vegas").congestion;
    let mut s = Script::connect(plain().with(|c| c.window.initial = 4));
    s.skip();
    s.connection.set_congestion(alloc::sync::Arc::clone(&vegas));
    s.recv("S. 0 ack 1 mss 900");
    assert_eq!(s.connection.cwnd(), 3600.0, "of the MSS agreed on");
    s.connection.set_congestion(super::config(Profile::Rfc5681, "new-ecn").congestion);
    assert_eq!(s.connection.cwnd(), 3600.0);
    assert!(s.connection.trace_value("slope").is_some(), "New-ECN has one, and no other");

    let mut s = Script::connect(plain().with(|c| c.window.initial = 4));
    s.advance_ms(1000);
    s.recv("S. 0 ack 1 mss 1000");
    s.connection.set_congestion(vegas);
    assert_eq!(s.connection.cwnd(), 1000.0, "after a lost SYN");
}

#[test]
fn rfc5681_after_a_lost_syn_ack_the_initial_window_is_one_segment() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.advance_ms(1000);
    s.recv(". 1 ack 1");
    assert_eq!(s.connection.cwnd(), 1000.0);
}

#[test]
fn every_option_offered_and_agreed() {
    let mut s = Script::connect(everything_offered());
    s.expect(&["S 0 mss 1000 wscale 7 sackOK TS 10000:0"]);
    s.recv("S. 0 ack 1 mss 1000 wscale 2 sackOK TS 777:10000");
    s.expect(&[". 1 ack 1 win 32768 TS 10000:777"]);
    assert!(s.connection.sack_negotiated());
    assert_eq!(s.connection.mss(), 988, "RFC 6691: the timestamps take 12 bytes");
    s.recv(". 1 ack 1 win 100 TS 778:10000");
    assert_eq!(s.connection.peer_window_edge(), 400);
}

#[test]
fn options_offered_and_not_answered_stay_off() {
    let mut s = Script::connect(everything_offered());
    s.skip();
    s.recv("S. 0 ack 1 mss 1000");
    s.expect(&[". 1 ack 1 win 65535"]);
    assert!(!s.connection.sack_negotiated());
    assert_eq!(s.connection.mss(), 1000);
    s.recv(". 1 ack 1 win 100");
    assert_eq!(s.connection.peer_window_edge(), 100, "the peer's window is not scaled");
}

#[test]
fn a_syn_ack_answers_only_what_the_syn_offered() {
    let mut s = Script::listen(everything_offered());
    s.recv("S 0 mss 1000 sackOK");
    s.expect(&["S. 0 ack 1 mss 1000 sackOK"]);
    let mut s = Script::listen(everything_offered());
    s.recv("S 0 mss 1000 wscale 7 TS 5:0");
    s.expect(&["S. 0 ack 1 mss 1000 wscale 7 TS 10000:5"]);
}

#[test]
fn options_not_wanted_here_are_not_answered() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000 wscale 7 sackOK TS 5:0");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    assert!(!s.connection.sack_negotiated());
    assert_eq!(s.connection.mss(), 1000);
}

#[test]
fn rfc7323_the_window_of_a_syn_is_not_scaled() {
    let mut s = Script::listen(everything_offered());
    s.recv("S 0 win 1000 mss 1000 wscale 7");
    s.expect(&["S. 0 ack 1 win 65535 mss 1000 wscale 7"]);
    assert_eq!(s.connection.peer_window_edge(), 1000);
    s.recv(". 1 ack 1 win 1000");
    assert_eq!(s.connection.peer_window_edge(), 128_000);
}

#[test]
fn rfc7323_a_shift_above_14_means_14() {
    let mut s = Script::connect(plain().with(|c| c.extensions.window_scaling = true));
    s.recv("S. 0 ack 1 mss 1000 wscale 200");
    s.recv(". 1 ack 1 win 1");
    assert_eq!(s.connection.peer_window_edge(), 1 << 14);
}

#[test]
fn the_smaller_mss_counts_and_none_means_536() {
    for (answer, mss) in [
        ("S. 0 ack 1 mss 1000", 1000),
        ("S. 0 ack 1 mss 1460", 1000),
        ("S. 0 ack 1 mss 600", 600),
        ("S. 0 ack 1", 536),
        ("S. 0 ack 1 mss 0", 48),
    ] {
        let mut s = Script::connect(plain());
        s.recv(answer);
        assert_eq!(s.connection.mss(), mss, "{answer}");
    }
}

#[test]
fn rfc3168_ecn_agreed_by_both() {
    let mut s = Script::connect(ecn());
    s.expect(&["SEW 0 mss 1000"]);
    s.recv("SE. 0 ack 1 mss 1000");
    assert!(s.connection.ecn_negotiated());
    let mut s = Script::listen(ecn());
    s.recv("SEW 0 mss 1000");
    s.expect(&["SE. 0 ack 1 mss 1000"]);
    assert!(s.connection.ecn_negotiated());
}

#[test]
fn rfc3168_ecn_refused_by_either() {
    // A SYN-ACK that reflects both flags comes from a broken peer and agrees on nothing.
    for answer in ["S. 0 ack 1 mss 1000", "SEW. 0 ack 1 mss 1000"] {
        let mut s = Script::connect(ecn());
        s.recv(answer);
        assert!(!s.connection.ecn_negotiated(), "{answer}");
    }
    let mut s = Script::listen(ecn());
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    let mut s = Script::listen(plain());
    s.recv("SEW 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    assert!(!s.connection.ecn_negotiated());
}

#[test]
fn rfc3168_a_lost_syn_falls_back_to_no_ecn() {
    let mut s = Script::connect(ecn());
    s.expect(&["SEW 0 mss 1000"]);
    s.advance_ms(1000);
    s.expect(&["S 0 mss 1000"]);
    // The answer to the first SYN was late; the second SYN has withdrawn the offer.
    s.recv("SE. 0 ack 1 mss 1000");
    assert!(!s.connection.ecn_negotiated());
}

#[test]
fn without_fallback_a_lost_syn_asks_for_ecn_again() {
    let mut s = Script::connect(ecn().with(|c| c.ecn.fallback = false));
    s.expect(&["SEW 0 mss 1000"]);
    s.advance_ms(1000);
    s.expect(&["SEW 0 mss 1000"]);
    s.recv("SE. 0 ack 1 mss 1000");
    assert!(s.connection.ecn_negotiated());
}

#[test]
fn rfc3168_a_repeated_syn_without_ecn_takes_the_offer_back() {
    let mut s = Script::listen(ecn());
    s.recv("SEW 0 mss 1000");
    s.expect(&["SE. 0 ack 1 mss 1000"]);
    s.recv("S 0 mss 1000");
    s.expect(&["S. 0 ack 1 mss 1000"]);
    assert!(!s.connection.ecn_negotiated());
}

#[test]
fn an_ack_to_a_listener_is_reset() {
    let mut s = Script::listen(plain());
    s.recv(". 500 ack 77");
    s.expect(&["R 77"]);
    s.recv("S. 0 ack 77");
    s.expect(&["R 77"]);
    s.recv("R 5");
    s.expect_nothing();
    s.expect_state(State::Listen);
}

#[test]
fn a_wrong_ack_in_syn_sent_is_reset_and_changes_nothing() {
    let mut s = Script::connect(plain());
    s.skip();
    s.recv("S. 0 ack 2 mss 1000");
    s.expect(&["R 2"]);
    s.recv(". 0 ack 0");
    s.expect(&["R 0"]);
    s.recv("R. 0 ack 2");
    s.expect_nothing();
    s.expect_state(State::SynSent);
}

#[test]
fn a_reset_that_acknowledges_the_syn_refuses_the_connection() {
    let mut s = Script::connect(plain());
    s.skip();
    s.recv("R 0");
    s.expect_state(State::SynSent);
    s.recv("R. 0 ack 1");
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::Refused)]);
    s.expect_nothing();
}

#[test]
fn a_wrong_ack_in_syn_received_is_reset() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.skip();
    for (line, reset) in [(". 1 ack 2", "R 2"), (". 1 ack 0", "R 0")] {
        s.recv(line);
        s.expect(&[reset]);
        s.expect_state(State::SynReceived);
    }
}

#[test]
fn a_reset_in_syn_received() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.skip();
    s.recv("R 1");
    s.expect_state(State::Closed);
    s.expect_events(&[Event::Failed(Error::Refused)]);
}

#[test]
fn data_and_a_close_before_the_handshake_take_effect_after_it() {
    let mut s = Script::connect(plain());
    s.write(1500);
    s.close();
    s.expect(&["S 0 mss 1000"]);
    s.expect_state(State::SynSent);
    s.recv("S. 0 ack 1 mss 1000");
    s.expect(&[". 1:1001 ack 1", "FP. 1001:1501 ack 1"]);
    s.expect_state(State::FinWait1);
}

#[test]
fn data_written_in_syn_received_waits_for_the_ack() {
    let mut s = Script::listen(plain());
    s.recv("S 0 mss 1000");
    s.skip();
    s.write(300);
    s.expect_nothing();
    s.recv(". 1 ack 1");
    s.expect(&["P. 1:301 ack 1"]);
}

#[test]
fn a_listener_takes_no_data_to_send_and_closes_at_once() {
    let mut s = Script::listen(plain());
    assert_eq!(s.connection.write(1), Err(Error::Closed));
    s.close();
    s.expect_state(State::Closed);
    s.recv("S 0 mss 1000");
    // Its sequence number is 0 on the wire.
    s.expect(&["R. 2501 ack 1"]);
}

#[test]
fn the_handshake_gives_the_first_rtt_sample() {
    let mut s = Script::established(plain());
    assert_eq!(s.connection.smoothed_rtt(), Some(crate::Span::from_millis(100)));
    s.write(1000);
    s.skip();
    assert_eq!(s.next_timer_ms(), Some(1000), "RFC 6298: not below a second");
}

#[test]
fn an_early_writer_gets_writable_after_the_handshake() {
    let mut s = Script::connect(plain().with(|c| c.buffers.send = 1000));
    assert_eq!(s.connection.write(2000), Ok(1000));
    s.recv("S. 0 ack 1 mss 1000");
    s.expect_events(&[Event::Connected]);
    s.recv(". 1 ack 1001");
    s.expect_events(&[Event::Writable]);
}
