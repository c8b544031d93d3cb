//! The behaviour of a Linux host that the profiles leave off: AccECN's option and ECT on every segment, timeouts of SYNs, the
//! ACK of a FIN.

use super::script::{Script, plain};
use crate::Config;
use crate::config::{AckPolicy, EcnEcho, Growth, OptionUse};
use alloc::format;
use windlass_base::Span;

fn accurate() -> Config {
    plain().with(|c| {
        c.ecn.enabled = true;
        c.ecn.echo = EcnEcho::Accurate;
        c.accecn.option = OptionUse::Always;
        c.accecn.option_losses = 2;
        c.accecn.ect_on_all = true;
        c.sending.nagle = false;
        c.window.initial = 10;
    })
}

#[test]
fn every_segment_has_the_option_with_ect1_first_and_is_ect() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000 accecn1 1,0,1");
    s.skip();
    s.write(988);
    s.write(988);
    s.expect(&["PAE. 1:989 ack 1 accecn1 1,0,1 ect0", "PAE. 989:1977 ack 1 accecn1 1,0,1 ect0"]);
    // RFC 3168 §6.1.5 does not hold for it: a retransmission is ECT, and has the option, too.
    s.advance_ms(1500);
    s.expect(&["AE. 1:989 ack 1 accecn1 1,0,1 ect0"]);
    s.recv("AE. 1:101 ack 1977 accecn1 1,0,1 ect0");
    s.expect(&["AE. 1977 ack 101 accecn1 1,0,101 ect0"]);
}

#[test]
fn no_segment_has_the_option_before_the_peer_has_sent_one() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000");
    s.expect(&["SAEW 0 mss 1000", "W. 1 ack 1 ect0"]);
    s.write(500);
    s.expect(&["PAE. 1:501 ack 1 ect0"]);
    s.recv("AE. 1 ack 501 accecn1 1,0,501");
    s.write(500);
    s.expect(&["PAE. 501:1001 ack 1 accecn1 1,0,1 ect0"]);
}

#[test]
fn the_use_of_options_changes_on_an_open_connection() {
    let mut s = Script::connect(accurate());
    s.recv("SW. 0 ack 1 mss 1000 accecn1 1,0,1");
    s.connection.set_accurate_option(OptionUse::Never);
    s.skip();
    s.write(500);
    s.expect(&["PAE. 1:501 ack 1 ect0"]);
}

#[test]
fn data_that_comes_a_third_time_ends_the_option() {
    let mut s = Script::listen(accurate());
    s.recv("SAEW 0 mss 1000");
    s.recv("W. 1 ack 1 accecn1 1,0,1");
    s.skip();
    s.recv("AE. 1:101 ack 1 ect0");
    s.recv("AE. 1:101 ack 1 ect0");
    s.expect(&["AE. 1 ack 101 accecn1 1,0,101 ect0", "AE. 1 ack 101 accecn1 1,0,101 ect0"]);
    s.recv("AE. 1:101 ack 1 ect0");
    s.expect(&["AE. 1 ack 101 ect0"]);
    s.recv("AE. 101:201 ack 1 ect0");
    s.expect(&["AE. 1 ack 201 ect0"]);
}

/// RFC 6298 §5.5 would double each of them.
#[test]
fn the_first_timeouts_of_a_syn_come_a_second_after_each_other() {
    let mut s = Script::connect(plain().with(|c| c.timers.linear_syn_timeouts = 2));
    let mut waits = alloc::vec::Vec::new();
    for _ in 0..4 {
        let wait = s.next_timer_ms().expect("a timer");
        waits.push(wait);
        s.advance_ms(wait);
    }
    assert_eq!(waits, [1000, 1000, 1000, 2000]);
}

#[test]
fn a_syn_ack_backs_off_from_the_first_timeout_on() {
    let mut s = Script::listen(plain().with(|c| c.timers.linear_syn_timeouts = 2));
    s.recv("S 0 mss 1000");
    s.advance_ms(1000);
    assert_eq!(s.next_timer_ms(), Some(2000));
}

fn delays_fin() -> Config {
    plain().with(|c| {
        c.acks.policy = AckPolicy::Linux { max: Span::from_millis(40) };
        c.acks.delays_fin = true;
    })
}

#[test]
fn the_ack_of_a_fin_waits_for_the_answer_if_data_came_before() {
    let mut s = Script::established(delays_fin());
    s.recv("P. 1:101 ack 1");
    s.skip();
    s.recv("F. 101 ack 1");
    s.expect_nothing();
    s.close();
    s.expect(&["F. 1 ack 102"]);
}

#[test]
fn the_ack_of_a_fin_waits_no_longer_than_an_ack_may_and_not_without_data() {
    let mut s = Script::established(delays_fin());
    s.recv("P. 1:101 ack 1");
    s.recv("F. 101 ack 1");
    s.skip();
    s.advance_ms(40);
    s.expect(&[". 1 ack 102"]);
    let mut s = Script::established(delays_fin());
    s.recv("F. 1 ack 1");
    s.expect(&[". 1 ack 2"]);
}

/// Three segments acknowledged, of which two had been reported: one counts.
#[test]
fn growth_counts_what_duplicate_acks_have_not_reported() {
    for sack in [false, true] {
        let mut s = Script::established(plain().with(|c| {
            c.extensions.sack = sack;
            c.growth.newly_delivered = true;
            c.growth.credit = Growth::PerByte { limit: u32::MAX };
            c.window.initial = 10;
        }));
        s.write(10_000);
        for end in [2001, 3001] {
            s.recv(&if sack { format!(". 1 ack 1 sack 1001:{end}") } else { ". 1 ack 1".into() });
        }
        s.recv(". 1 ack 3001");
        s.expect_windows(11_000, u64::MAX);
    }
}

/// Minshall's variant of Nagle's algorithm.
#[test]
fn a_small_segment_waits_for_a_small_one_and_for_no_full_one() {
    let mut s = Script::established(plain().with(|c| c.sending.nagle_spares_first = true));
    s.write(1300);
    s.expect(&[". 1:1001 ack 1", "P. 1001:1301 ack 1"]);
    s.write(10);
    s.recv(". 1 ack 1001");
    s.expect_nothing();
    s.recv(". 1 ack 1301");
    s.expect(&["P. 1301:1311 ack 1"]);
}

fn validates_by_round() -> Config {
    plain().with(|c| {
        c.growth.validates_by_round = true;
        c.growth.credit = Growth::PerByte { limit: u32::MAX };
        c.window.initial = 10;
    })
}

#[test]
fn in_slow_start_the_window_grows_to_twice_the_largest_flight_of_the_round() {
    for (segments, window) in [(5, 10), (6, 12), (9, 18), (10, 20)] {
        let mut s = Script::established(validates_by_round());
        s.write(segments * 1000);
        for ack in (2..=segments).step_by(2).chain([segments]) {
            s.recv(&format!(". 1 ack {}", ack * 1000 + 1));
        }
        s.expect_windows(window * 1000, u64::MAX);
    }
}

#[test]
fn a_round_with_a_smaller_flight_counts_anew() {
    let mut s = Script::established(validates_by_round());
    s.write(10_000);
    s.recv(". 1 ack 10001");
    s.expect_windows(20_000, u64::MAX);
    s.write(3000);
    s.recv(". 1 ack 13001");
    s.expect_windows(20_000, u64::MAX);
}
