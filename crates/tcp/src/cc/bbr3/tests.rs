//! Clauses that a whole path shows only seldom. The cases of the draft's appendix run in the simulator's tests.

use super::*;
use crate::cc::tests::{congestion, params};
use crate::cc::{RateSample, Start};
use windlass_base::{Span, Time};

const MSS: u64 = 1000;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn bbr() -> Bbr3Controller {
    started(&Bbr3::default())
}

fn started(settings: &Bbr3) -> Bbr3Controller {
    let mut bbr = Bbr3Controller::new(settings, &params());
    let smoothed_rtt = Some(Span::from_millis(100));
    bbr.on_start(&Start { now: at(0), smoothed_rtt, has_sack: true });
    bbr
}

/// An ACK of `delivered` bytes at a rate of a megabyte a second, `in_flight` bytes before and after it. RTTs fall, so
/// that there is no ProbeRTT.
fn delivery(bbr: &Bbr3Controller, ms: u64, delivered: u64, in_flight: u64) -> Delivery {
    let rtt = Span::from_millis(100);
    Delivery {
        now: at(ms),
        delivered,
        lost: 0,
        delivered_total: bbr.delivered + delivered,
        in_flight_before: in_flight,
        in_flight,
        rtt: Some(Span::from_micros(100_000 - ms / 10)),
        smoothed_rtt: rtt,
        min_rtt: Some(rtt),
        is_window_limited: false,
        sample: Some(RateSample {
            delivered: 100_000,
            interval: rtt,
            prior_delivered: bbr.delivered,
            in_flight,
            lost: 0,
            is_app_limited: false,
        }),
    }
}

/// Rounds of 100 ms at a megabyte a second, until the controller is in `state`.
fn until(state: State) -> (Bbr3Controller, u64) {
    let mut bbr = bbr();
    for round in 1..200 {
        // Each ACK is of data that was sent after the one before.
        let ack = delivery(&bbr, round * 100, 100_000, 90_000);
        bbr.on_delivery(&ack);
        if bbr.state == state {
            return (bbr, round * 100);
        }
    }
    panic!("never in {state:?}");
}

fn lost(bbr: &Bbr3Controller, bytes: u64, in_flight: u64, lost_since: u64) -> Lost {
    Lost {
        sent: at(0),
        now: at(0),
        position: 1,
        bytes,
        in_flight,
        lost_since,
        delivered_total: bbr.delivered,
        is_app_limited: false,
    }
}

#[test]
fn gains_are_those_of_the_table() {
    let gains = |state: State| (state.pacing_gain(), state.cwnd_gain());
    assert_eq!(gains(State::Startup), (2.77, 2.0));
    assert_eq!(gains(State::Drain), (0.5, 2.0));
    assert_eq!(gains(State::ProbeBwDown), (0.9, 2.0));
    assert_eq!(gains(State::ProbeBwCruise), (1.0, 2.0));
    assert_eq!(gains(State::ProbeBwRefill), (1.0, 2.0));
    assert_eq!(gains(State::ProbeBwUp), (1.25, 2.25));
    assert_eq!(gains(State::ProbeRtt), (1.0, 0.5));
}

#[test]
fn the_initial_rate_is_the_window_in_the_round_trip_of_the_handshake() {
    assert_eq!(bbr().pacing_rate, 2.77 * 4000.0 / 0.1);
    let mut unknown = Bbr3Controller::new(&Bbr3::default(), &params());
    assert_eq!(unknown.pacing_rate, 2.77 * 4000.0 / 0.001);
    unknown.on_start(&Start { now: at(0), smoothed_rtt: None, has_sack: true });
    let ack = Delivery { sample: None, ..delivery(&unknown, 100, 1000, 3000) };
    unknown.on_delivery(&ack);
    assert_eq!(unknown.pacing_rate, 2.77 * 4000.0 / 0.1, "after the first sample");
}

#[test]
fn quanta_are_a_millisecond_of_data_within_their_bounds() {
    let quantum = |rate| {
        let mut bbr = bbr();
        bbr.pacing_rate = rate;
        bbr.set_send_quantum();
        bbr.send_quantum()
    };
    assert_eq!(quantum(1e5), Some(2 * MSS));
    assert_eq!(quantum(1e7), Some(10_000));
    assert_eq!(quantum(1e9), Some(65_536));
}

#[test]
fn losses_of_a_probe_set_the_bound_where_they_became_too_many() {
    let (mut bbr, _) = until(State::ProbeBwUp);
    // Two per cent of 200,000 bytes are exceeded within this burst of 10,000.
    bbr.on_lost(&lost(&bbr, 10_000, 210_000, 10_000));
    let prefix = 0.02 * 200_000.0 / 0.98;
    assert!((bbr.long_term.inflight - (200_000.0 + prefix)).abs() < 1e-6);
    assert_eq!(bbr.state, State::ProbeBwDown);
    assert!(bbr.long_term.prev_probe_too_high);
    let bound = bbr.long_term.inflight;
    bbr.on_lost(&lost(&bbr, 10_000, 20_000, 20_000));
    assert_eq!(bbr.long_term.inflight, bound, "a probe is answered once");
}

#[test]
fn losses_that_were_too_many_before_leave_the_whole_burst_out() {
    let (mut bbr, _) = until(State::ProbeBwUp);
    bbr.on_lost(&lost(&bbr, 10_000, 210_000, 30_000));
    assert_eq!(bbr.long_term.inflight, 200_000.0);
}

#[test]
fn the_bound_of_a_probe_is_beta_of_the_window_at_least() {
    let (mut bbr, _) = until(State::ProbeBwUp);
    let target = bbr.target_inflight();
    bbr.on_lost(&lost(&bbr, 1000, 2000, 1000));
    assert!((bbr.long_term.inflight - 0.7 * target).abs() < 1.0);
}

#[test]
fn few_losses_are_none() {
    let (mut bbr, _) = until(State::ProbeBwUp);
    bbr.on_lost(&lost(&bbr, 1000, 60_000, 1000));
    assert_eq!((bbr.state, bbr.long_term.inflight), (State::ProbeBwUp, f64::INFINITY));
}

/// "Precautionary Bandwidth Probing": after a probe with too many losses the next one ends at the bound, and if that
/// is safe another one follows at once.
#[test]
fn the_probe_after_one_that_went_too_high_ends_at_the_bound() {
    let (mut bbr, mut ms) = until(State::ProbeBwUp);
    bbr.on_lost(&Lost { now: at(ms), ..lost(&bbr, 10_000, 130_000, 10_000) });
    let bound = bbr.long_term.inflight;
    let mut states = alloc::vec![bbr.state];
    for _ in 0..80 {
        ms += 100;
        // The flight is at the bound while the controller probes.
        let in_flight = if bbr.state == State::ProbeBwUp { bound as u64 + 1 } else { 90_000 };
        let ack = delivery(&bbr, ms, 100_000, in_flight);
        bbr.on_delivery(&ack);
        if states.last() != Some(&bbr.state) {
            states.push(bbr.state);
        }
    }
    use State::*;
    let begin = [ProbeBwDown, ProbeBwCruise, ProbeBwRefill, ProbeBwUp, ProbeBwDown, ProbeBwRefill];
    assert_eq!(states[..6], begin, "{states:?}");
}

#[test]
fn a_round_with_losses_lowers_the_short_term_bounds_to_what_was_delivered_or_by_beta() {
    let (mut bbr, ms) = until(State::ProbeBwDown);
    let (max_bw, mut cwnd) = (bbr.max_bw.get(), 0.0);
    for round in 1..=2 {
        let mut ack = delivery(&bbr, ms + 100 * round, 50_000, 90_000);
        ack.sample.as_mut().expect("delivers").delivered = 80_000;
        cwnd = bbr.cwnd;
        bbr.on_delivery(&ack);
        assert!(round == 2 || bbr.short_term.bw == f64::INFINITY);
        bbr.on_lost(&lost(&bbr, 1000, 100_000, 1000));
    }
    assert_eq!((bbr.short_term.bw, bbr.bw), (800_000.0, 800_000.0));
    assert!((bbr.short_term.inflight - (0.7 * cwnd).max(80_000.0)).abs() < 1.0);
    assert_eq!(bbr.max_bw.get(), max_bw);
}

#[test]
fn without_sack_one_loss_of_a_probe_is_too_many() {
    let (mut bbr, _) = until(State::ProbeBwUp);
    bbr.has_sack = false;
    bbr.on_lost(&lost(&bbr, 1000, 200_000, 1000));
    assert_eq!(bbr.state, State::ProbeBwDown);
}

#[test]
fn without_sack_a_loss_in_fast_recovery_ends_startup() {
    let mut bbr = bbr();
    bbr.has_sack = false;
    let ack = delivery(&bbr, 100, 1000, 50_000);
    bbr.on_delivery(&ack);
    bbr.on_congestion(&congestion(CongestionCause::FastRetransmit, 0.0));
    bbr.on_lost(&lost(&bbr, 1000, 10_000, 1000));
    let ack = Delivery { in_flight: 2_000_000, ..delivery(&bbr, 200, 1000, 50_000) };
    bbr.on_delivery(&ack);
    assert_eq!((bbr.state, bbr.undo.state), (State::Drain, Some(State::Startup)));
}

#[test]
fn six_ranges_in_a_round_trip_end_startup_and_fewer_do_not() {
    for (ranges, state) in [(5, State::Startup), (6, State::Drain)] {
        let mut bbr = bbr();
        bbr.on_delivery(&delivery(&bbr, 100, 1000, 50_000));
        bbr.on_congestion(&congestion(CongestionCause::FastRetransmit, 0.0));
        for range in 0..ranges {
            // In two parts each, which follow each other.
            for part in 0..2 {
                let position = range * 10_000 + part * MSS;
                bbr.on_lost(&Lost { position, ..lost(&bbr, MSS, 50_000, MSS) });
            }
        }
        let mut ack = delivery(&bbr, 200, 1000, 2_000_000);
        ack.sample.as_mut().expect("delivers").lost = 100_000;
        bbr.on_delivery(&ack);
        assert_eq!(bbr.state, state, "{ranges}");
    }
}

#[test]
fn a_needless_repair_gives_the_probe_back() {
    let (mut bbr, _) = until(State::ProbeBwUp);
    let window = bbr.cwnd;
    bbr.on_lost(&lost(&bbr, 10_000, 110_000, 10_000));
    bbr.on_congestion(&congestion(CongestionCause::FastRetransmit, 0.0));
    assert_eq!((bbr.state, bbr.undo.state), (State::ProbeBwDown, Some(State::ProbeBwUp)));
    assert!(bbr.long_term.inflight < f64::INFINITY);
    bbr.cwnd = 4000.0;
    bbr.on_repair_end(RepairEnd::Needless);
    assert_eq!((bbr.state, bbr.long_term.inflight), (State::ProbeBwRefill, f64::INFINITY));
    assert_eq!((bbr.cwnd, bbr.undo.state), (window, None));
}

#[test]
fn after_a_timeout_the_window_is_a_segment_until_the_repair_is_over() {
    let (mut bbr, ms) = until(State::ProbeBwCruise);
    let window = bbr.cwnd;
    bbr.on_congestion(&congestion(CongestionCause::Timeout, 0.0));
    assert_eq!(bbr.cwnd(), MSS as f64);
    bbr.on_repair_end(RepairEnd::Complete);
    bbr.on_delivery(&delivery(&bbr, ms + 100, 1000, 90_000));
    assert!(bbr.cwnd > 0.99 * window, "{} of {window}", bbr.cwnd);
}

#[test]
fn marks_change_nothing_as_none_are_asked_for() {
    let (mut bbr, _) = until(State::ProbeBwCruise);
    let window = bbr.cwnd;
    bbr.on_congestion(&congestion(CongestionCause::Ecn, 0.0));
    assert_eq!((bbr.cwnd, bbr.ecn_codepoint()), (window, Ecn::NotEct));
}

#[test]
fn the_window_keeps_four_segments_and_a_smaller_segment_changes_its_least() {
    let mut bbr = bbr();
    bbr.cwnd = 100.0;
    bbr.on_delivery(&delivery(&bbr, 100, 10, 0));
    assert_eq!(bbr.cwnd, 4.0 * MSS as f64);
    bbr.on_mss_change(500);
    assert_eq!(bbr.min_pipe_cwnd(), 2000.0);
}

/// RTTs never fall below the first, so ProbeRTT is due at each interval.
#[test]
fn probe_rtt_is_due_after_its_interval() {
    for (interval, filter) in [(5, 10), (10, 10), (10, 20)] {
        let settings = Bbr3 {
            probe_rtt_interval: Span::from_secs(interval),
            min_rtt_filter_len: Span::from_secs(filter),
        };
        let mut bbr = started(&settings);
        let mut raised = None;
        let mut probed = None;
        for ms in (100..25_000).step_by(100) {
            let rtt = Span::from_millis(if ms == 100 { 90 } else { 150 });
            let ack = Delivery { rtt: Some(rtt), ..delivery(&bbr, ms, 100_000, 90_000) };
            bbr.on_delivery(&ack);
            if bbr.state == State::ProbeRtt {
                probed.get_or_insert(ms);
            }
            if bbr.min_rtt.least == Some(Span::from_millis(150)) {
                raised.get_or_insert(ms);
            }
        }
        // The first RTT was sampled at 100 ms.
        assert_eq!(probed, Some(interval * 1000 + 200), "{settings:?}");
        assert_eq!(raised, Some(filter * 1000 + 200), "{settings:?}");
    }
}
