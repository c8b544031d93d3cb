//! RFC 5681 §3.2, RFC 3042 and RFC 6582: losses that duplicate ACKs show, without SACK.

use super::script::{Script, plain, with_controller};
use crate::config::ReductionBase;
use crate::conn::State;
use crate::{Config, Profile};

/// Eight segments in flight of 20,000 bytes written.
fn flight(config: Config) -> Script {
    let config = config.with(|c| {
        c.window.initial = 8;
        c.recovery.limited_transmit = false;
    });
    let mut s = Script::established(config);
    s.write(20_000);
    assert_eq!(s.skip().len(), 8);
    s
}

#[test]
fn the_third_duplicate_ack_brings_a_fast_retransmit() {
    let mut s = flight(plain());
    s.recv_times(2, ". 1 ack 1");
    s.expect_nothing();
    s.recv(". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(4000, 4000);
    assert_eq!(s.connection.congestion_window_in_force(), 7000);
    assert_eq!(s.next_timer_ms(), Some(1000));
}

#[test]
fn rfc5681_acks_that_are_no_duplicate_acks() {
    for line in [
        ". 1 ack 1 win 60000", // a window update
        "P. 1:101 ack 1",      // data
        ". 1 ack 1001",        // new data acknowledged
    ] {
        let mut s = flight(plain());
        s.recv_times(2, ". 1 ack 1");
        s.recv(line);
        assert_eq!(s.connection.stats().fast_retransmits, 0, "{line}");
    }
    let mut s = Script::established(plain());
    s.recv_times(10, ". 1 ack 1");
    s.expect_nothing();
}

#[test]
fn rfc3042_limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    let config = plain().with(|c| c.window.initial = 8);
    let mut s = Script::established(config);
    s.write(20_000);
    s.skip();
    s.recv(". 1 ack 1");
    s.expect(&[". 8001:9001 ack 1"]);
    s.recv(". 1 ack 1");
    s.expect(&[". 9001:10001 ack 1"]);
    s.recv(". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
    // RFC 5681 §3.2 step 2: what limited transmit sent does not count.
    s.expect_windows(4000, 4000);
}

#[test]
fn limited_transmit_works_again_after_a_timeout_was_repaired() {
    let mut s = Script::established(plain());
    s.write(4000);
    s.advance_ms(1000);
    s.recv(". 1 ack 4001");
    s.write(20_000);
    s.skip();
    let end = 4001 + s.connection.in_flight();
    s.recv(". 1 ack 4001");
    s.expect(&[&alloc::format!(". {end}:{} ack 1", end + 1000)]);
}

#[test]
fn reno_inflates_by_each_duplicate_and_deflates_at_the_first_new_ack() {
    let mut s = flight(with_controller("reno"));
    s.recv_times(3, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
    // The window is 4000 + 3000; 8000 are in flight.
    assert_eq!(s.connection.window_inflation(), 3000);
    s.recv(". 1 ack 1");
    s.expect_nothing();
    s.recv(". 1 ack 1");
    s.expect(&[". 8001:9001 ack 1"]);
    s.recv(". 1 ack 1");
    s.expect(&[". 9001:10001 ack 1"]);
    s.recv(". 1 ack 8001");
    assert_eq!(s.connection.window_inflation(), 0);
    assert_eq!(s.connection.congestion_window_in_force(), 4250);
    s.expect_windows(4250, 4000);
    s.expect(&[". 10001:11001 ack 1", ". 11001:12001 ack 1"]);
}

#[test]
fn reno_leaves_a_second_loss_of_the_window_to_the_timer() {
    let mut s = flight(with_controller("reno"));
    s.recv_times(6, ". 1 ack 1");
    s.skip();
    // 3001:4001 was lost as well. A partial ACK ends the recovery.
    s.recv(". 1 ack 3001");
    s.expect_nothing();
    s.recv_times(3, ". 1 ack 3001");
    s.expect_nothing();
    assert_eq!(s.connection.stats().fast_retransmits, 1, "RFC 6582 §3.2 step 2");
    s.advance_ms(1000);
    s.expect(&[". 3001:4001 ack 1"]);
}

#[test]
fn ns2_reno_retransmits_fast_twice_in_one_window() {
    let reno = crate::cc::by_name("reno").expect("a controller of the crate");
    let mut s =
        flight(Profile::Ns2Reno.config(1000, reno).with(|c| c.extensions.window_scaling = false));
    s.recv_times(3, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(4000, 4000);
    s.recv(". 1 ack 3001");
    s.recv_times(3, ". 1 ack 3001");
    s.expect(&[". 3001:4001 ack 1"]);
    s.expect_windows(2000, 2000);
    assert_eq!(s.connection.stats().fast_retransmits, 2);
}

#[test]
fn newreno_repairs_a_hole_for_each_partial_ack() {
    let mut s = flight(plain());
    // 1:1001 and 3001:4001 are lost.
    s.recv_times(6, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1", ". 8001:9001 ack 1", ". 9001:10001 ack 1"]);
    s.recv(". 1 ack 3001");
    // Deflated by 3000, inflated by 1000: 8000 in force, 7000 in flight.
    s.expect(&[". 3001:4001 ack 1", ". 10001:11001 ack 1"]);
    assert_eq!(s.connection.congestion_window_in_force(), 8000);
    s.recv(". 1 ack 8001");
    s.expect_windows(4000, 4000);
    assert_eq!(s.connection.congestion_window_in_force(), 4000);
    s.expect(&[". 11001:12001 ack 1"]);
    assert_eq!(s.connection.stats().fast_retransmits, 1);
}

#[test]
fn rfc6582_the_timer_restarts_at_the_first_partial_ack_and_at_the_full_one() {
    let mut s = flight(plain());
    s.recv_times(4, ". 1 ack 1");
    s.advance_ms(400);
    s.recv(". 1 ack 3001");
    assert_eq!(s.next_timer_ms(), Some(1000));
    s.advance_ms(400);
    s.recv(". 1 ack 5001");
    assert_eq!(s.next_timer_ms(), Some(600));
    s.advance_ms(400);
    s.recv(". 1 ack 8001");
    assert_eq!(s.next_timer_ms(), Some(1000));
}

#[test]
fn rfc6582_duplicates_of_the_full_ack_do_not_cut_again() {
    let mut s = flight(plain());
    s.recv_times(3, ". 1 ack 1");
    s.recv(". 1 ack 8001");
    s.skip();
    s.recv_times(5, ". 1 ack 8001");
    s.expect_nothing();
    s.expect_windows(4000, 4000);
    s.recv(". 1 ack 9001");
    s.skip();
    s.recv_times(3, ". 1 ack 9001");
    s.expect(&[". 9001:10001 ack 1", ". 13001:14001 ack 1"]);
    s.expect_windows(2000, 2000);
    assert_eq!(s.connection.stats().fast_retransmits, 2);
}

#[test]
fn tahoe_starts_slowly_from_the_loss_and_sends_everything_again() {
    let mut s = flight(with_controller("tahoe"));
    s.recv_times(5, ". 1 ack 1");
    s.expect(&[". 1:1001 ack 1"]);
    s.expect_windows(1000, 4000);
    s.recv(". 1 ack 1001");
    s.expect(&[". 1001:2001 ack 1", ". 2001:3001 ack 1"]);
    s.expect_windows(2000, 4000);
    // Segments sent twice cause duplicate ACKs, which do not indicate a loss.
    s.recv(". 1 ack 8001");
    s.skip();
    s.recv_times(3, ". 1 ack 8001");
    assert_eq!(s.connection.stats().fast_retransmits, 1);
}

#[test]
fn a_cut_starts_from_the_window_or_from_the_flight() {
    for (reduction_base, ssthresh) in
        [(ReductionBase::FlightSize, 2500), (ReductionBase::Window, 10_000)]
    {
        let config = with_controller("reno").with(|c| {
            c.window.initial = 20;
            c.window.reduction_base = reduction_base;
        });
        let mut s = Script::established(config);
        s.write(5000);
        s.recv_times(3, ". 1 ack 1");
        s.expect_windows(ssthresh, ssthresh);
    }
}

#[test]
fn only_the_timer_finds_a_lost_fin() {
    let mut s = Script::established(plain());
    s.connection.write(3000).expect("open");
    s.close();
    s.skip();
    s.recv(". 1 ack 3001");
    s.expect_nothing();
    s.expect_state(State::FinWait1);
    s.advance_ms(1000);
    s.expect(&["F. 3001 ack 1"]);
}
