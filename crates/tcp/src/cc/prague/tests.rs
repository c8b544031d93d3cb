//! The reactions of Prague, driven by single ACKs.

use super::*;
use crate::cc::RateSample;
use crate::cc::tests::{MSS, params};
use windlass_base::Span;

const SEGMENT: u64 = MSS as u64;

/// A Prague controller on a path with a constant RTT, each ACK of which delivers a segment.
struct Path {
    prague: PragueController,
    now: Time,
    rtt: Span,
    delivered: u64,
}

impl Path {
    /// In congestion avoidance with a window of so many segments.
    fn new(rtt_ms: u64, segments: f64) -> Path {
        Path::of(Prague::default(), rtt_ms, segments)
    }

    fn without_sack(rtt_ms: u64, segments: f64) -> Path {
        let mut path = Path::new(rtt_ms, segments);
        path.prague.on_start(&Start { now: path.now, smoothed_rtt: None, has_sack: false });
        path
    }

    fn of(prague: Prague, rtt_ms: u64, segments: f64) -> Path {
        let initial_window = (segments * f64::from(MSS)) as u64;
        let params = Params { initial_window, initial_ssthresh: 0, ..params() };
        let mut path = Path {
            prague: PragueController::new(&prague, &params),
            now: Time::ZERO,
            rtt: Span::from_millis(rtt_ms),
            delivered: 0,
        };
        path.ack(false);
        path
    }

    /// The next ACK, a round trip's share after the last one.
    fn ack(&mut self, is_marked: bool) {
        self.ack_after(is_marked, 0);
    }

    /// The same, which shows a loss.
    fn lose(&mut self) {
        self.prague.on_congestion(&Congestion::new(
            self.now,
            CongestionCause::FastRetransmit,
            self.prague.cwnd(),
        ));
        self.ack_after(false, SEGMENT);
    }

    fn ack_after(&mut self, is_marked: bool, lost: u64) {
        let window = self.segments().max(1.0);
        self.now += Span::from_secs_f64(self.rtt.as_secs_f64() / window);
        self.delivered += SEGMENT;
        self.prague.on_marks(&Marks::new(self.now, SEGMENT, is_marked));
        let in_flight = (window * SEGMENT as f64) as u64;
        let prior_delivered = self.delivered.saturating_sub(in_flight.max(SEGMENT));
        self.prague.on_delivery(&Delivery {
            now: self.now,
            delivered: SEGMENT,
            lost,
            delivered_total: self.delivered,
            in_flight_before: in_flight,
            in_flight,
            rtt: Some(self.rtt),
            smoothed_rtt: self.rtt,
            min_rtt: Some(self.rtt),
            is_window_limited: true,
            sample: Some(RateSample {
                delivered: in_flight,
                interval: self.rtt,
                prior_delivered,
                in_flight,
                lost: 0,
                is_app_limited: false,
            }),
        });
    }

    fn acks(&mut self, span: Span, mut is_marked: impl FnMut(u64) -> bool) {
        let end = self.now + span;
        let mut number = 0;
        while self.now < end {
            self.ack(is_marked(number));
            number += 1;
        }
    }

    fn segments(&self) -> f64 {
        self.prague.cwnd() / f64::from(MSS)
    }

    fn alpha(&self) -> f64 {
        self.prague.trace_values()[0]
    }
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    let off = (found - expected).abs();
    assert!(off <= tolerance * expected.abs(), "{found}, expected {expected}");
}

#[test]
fn marked_copies_of_delivered_data_raise_alpha_to_one_at_most() {
    let mut path = Path::new(30, 50.0);
    for _ in 0..500 {
        // AccECN counts every packet that arrives (RFC 9768 section 3.2).
        path.prague.on_marks(&Marks { delivered: 0, ..Marks::new(path.now, 3 * SEGMENT, true) });
        path.ack(true);
    }
    assert_eq!(path.alpha(), 1.0);
}

#[test]
fn alpha_begins_with_one_and_follows_the_marked_share_by_a_sixteenth_each_virtual_rtt() {
    let mut path = Path::new(10, 50.0);
    path.acks(Span::from_millis(100), |_| false);
    assert_eq!(path.alpha(), 0.0, "no queue that marks is known");
    path.ack(true);
    assert_near(path.alpha(), 1.0, 0.07);
    // A round is a virtual RTT and an ACK: after 38 of them (15/16)^38 is left of the first value.
    path.acks(Span::from_secs(1), |number| number % 10 == 0);
    assert_near(path.alpha(), 0.1 + 0.9 * 0.9375f64.powi(38), 0.05);
    path.acks(Span::from_secs(4), |number| number % 10 == 0);
    assert_near(path.alpha(), 0.1, 0.05);
}

#[test]
fn a_mark_reduces_by_half_of_alpha_once_in_a_virtual_rtt() {
    let mut path = Path::new(10, 100.0);
    path.ack(true);
    let after = path.segments();
    assert_near(after, 50.0, 0.05);
    path.acks(Span::from_millis(20), |_| true);
    assert!(path.segments() >= after, "the virtual RTT is not over");
    path.acks(Span::from_millis(6), |_| true);
    assert_near(path.segments(), after / 2.0, 0.1);
}

#[test]
fn a_virtual_rtt_of_acks_adds_a_segment_of_the_virtual_window() {
    // At 10 ms a segment per 25 ms and 25 ms is 0.4 segments of the window in each 25 ms.
    let mut path = Path::new(10, 50.0);
    let before = path.segments();
    path.acks(Span::from_millis(100), |_| false);
    assert_near(path.segments() - before, 4.0 * 0.4, 0.05);
    // From 25 ms on it is Reno's growth.
    let mut path = Path::new(50, 50.0);
    let before = path.segments();
    path.acks(Span::from_millis(200), |_| false);
    assert_near(path.segments() - before, 4.0, 0.05);
}

#[test]
fn data_without_a_mark_grows_the_window_while_others_are_marked() {
    let mut path = Path::new(25, 50.0);
    path.ack(true);
    let reduced = path.segments();
    path.acks(Span::from_millis(24), |number| number % 2 == 0);
    assert_near(path.segments() - reduced, 0.5, 0.1);
}

#[test]
fn a_loss_halves_once_in_a_virtual_rtt_and_stops_growth_meanwhile() {
    let mut path = Path::new(10, 100.0);
    path.lose();
    let halved = path.segments();
    assert_near(halved, 50.0, 0.01);
    path.acks(Span::from_millis(20), |_| false);
    path.lose();
    assert_eq!(path.segments(), halved);
    path.acks(Span::from_millis(10), |_| false);
    path.lose();
    assert_near(path.segments(), 25.0, 0.02);
}

/// As duplicate ACKs without SACK do.
#[test]
fn a_loss_without_a_delivery_halves_at_once_and_once() {
    let mut path = Path::without_sack(100, 20.0);
    let before = path.segments();
    let (cause, cwnd) = (CongestionCause::FastRetransmit, path.prague.cwnd());
    path.prague.on_congestion(&Congestion::new(path.now, cause, cwnd));
    assert_near(path.segments(), before / 2.0, 0.01);
    path.ack(false);
    assert_near(path.segments(), before / 2.0, 0.01);
}

/// Without SACK each partial ACK shows another loss of the window, a round trip after the last one.
#[test]
fn losses_of_one_window_halve_once_whenever_they_are_found() {
    let mut path = Path::without_sack(100, 20.0);
    path.lose();
    let halved = path.segments();
    path.acks(Span::from_millis(150), |_| false);
    let grown = path.segments();
    for (sent, left) in [(Time::ZERO, grown), (path.now, grown / 2.0)] {
        path.prague.on_lost(&Lost { sent, ..Lost::new(path.now, SEGMENT) });
        path.ack(false);
        assert_near(path.segments(), left, 0.1);
    }
    assert!(halved < grown);
}

#[test]
fn a_loss_counts_in_the_virtual_rtt_of_a_mark() {
    let mut path = Path::new(10, 100.0);
    path.ack(true);
    let after_mark = path.segments();
    path.lose();
    assert_near(path.segments(), after_mark / 2.0, 0.01);
}

#[test]
fn a_needless_halving_is_taken_back() {
    let mut path = Path::new(10, 100.0);
    let before = path.segments();
    path.lose();
    path.prague.on_repair_end(RepairEnd::Needless);
    assert_near(path.segments(), before, 1e-9);
    path.prague.on_repair_end(RepairEnd::Needless);
    assert_near(path.segments(), before, 1e-9);
}

#[test]
fn a_needless_repair_within_a_hold_does_not_take_back_the_loss_before() {
    let mut path = Path::new(10, 100.0);
    path.lose();
    let halved = path.segments();
    path.lose();
    path.prague.on_repair_end(RepairEnd::Needless);
    assert_eq!(path.segments(), halved);
}

#[test]
fn marks_take_the_window_below_a_segment_and_the_rate_to_100_kbit_per_s() {
    let mut path = Path::new(5, 4.0);
    path.acks(Span::from_secs(10), |_| true);
    assert!(path.segments() < 0.1, "{}", path.segments());
    assert_near(path.prague.cwnd() / 0.005, 12_500.0, 1e-6);
    assert!(path.prague.flight_limit() >= 2 * SEGMENT);
}

#[test]
fn below_a_segment_the_rate_stays_when_the_rtt_changes() {
    let mut path = Path::new(10, 0.5);
    let rate = |path: &Path| path.prague.cwnd() / path.rtt.as_secs_f64();
    path.acks(Span::from_millis(50), |_| true);
    let before = rate(&path);
    path.rtt = Span::from_millis(12);
    // The smoothed RTT needs some samples to get there; the marks of one virtual RTT have been answered.
    (0..3).for_each(|_| path.ack(true));
    assert!(rate(&path) <= before * 1.01 && rate(&path) > before / 2.1, "{}", rate(&path));
}

#[test]
fn slow_start_doubles_until_the_first_mark_halves() {
    let mut path = Path::new(10, 10.0);
    let params = Params { initial_window: 10_000, ..params() };
    path.prague = PragueController::new(&Prague::default(), &params);
    (0..40).for_each(|_| path.ack(false));
    assert_near(path.segments(), 50.0, 0.001);
    assert_eq!(path.prague.ssthresh(), u64::MAX);
    path.ack(true);
    assert_near(path.segments(), 25.0, 0.05);
    assert!(path.prague.ssthresh() < 26_000);
}

#[test]
fn a_timeout_restarts_from_a_segment_and_slow_start_ends_at_half() {
    let mut path = Path::new(10, 40.0);
    let timeout = Congestion::new(path.now, CongestionCause::Timeout, path.prague.cwnd());
    path.prague.on_congestion(&timeout);
    assert_near(path.segments(), 1.0, 1e-9);
    (0..19).for_each(|_| path.ack(false));
    assert_near(path.segments(), 20.0, 0.02);
    path.acks(Span::from_millis(25), |_| false);
    assert!(path.segments() < 21.0, "{}", path.segments());
}

#[test]
fn the_rate_is_three_percent_above_the_window_in_the_first_half_of_a_round_and_below_in_the_second()
{
    let mut path = Path::new(25, 100.0);
    path.acks(Span::from_millis(26), |_| false);
    let mut factors = [0u32; 2];
    for _ in 0..1000 {
        path.ack(false);
        let paced = path.prague.pacing_rate().expect("an RTT is known") as f64;
        let factor = paced * 0.025 / path.prague.cwnd();
        assert!((factor - 1.03).abs() < 1e-3 || (factor - 1.0 / 1.03).abs() < 1e-3, "{factor}");
        factors[usize::from(factor > 1.0)] += 1;
    }
    assert!(factors.iter().all(|count| (450..=550).contains(count)), "{factors:?}");
}

#[test]
fn a_burst_is_a_quarter_of_a_millisecond() {
    let path = Path::new(10, 1000.0);
    assert_near(path.prague.send_quantum().expect("an RTT") as f64, 25_000.0, 0.01);
}

#[test]
fn fast_growth_becomes_a_millisecond_per_virtual_rtt_without_marks() {
    let fast = Prague { fast_growth: true, ..Prague::default() };
    let mut path = Path::of(fast, 25, 500.0);
    path.acks(Span::from_millis(7 * 25), |_| false);
    assert_near(path.segments(), 507.0, 0.005);
    let before = path.segments();
    path.acks(Span::from_millis(50), |_| false);
    // A millisecond of 25 is 4 percent.
    assert_near(path.segments() / before, 1.04 * 1.04, 0.01);
}

#[test]
fn a_deep_queue_that_varies_scores_as_classic_and_a_shallow_one_does_not() {
    let score = |deviation_us: u64, queue_us: u64| {
        let mut classic = ClassicQueue::default();
        for number in 0..20_000u64 {
            let swing = if number % 2 == 0 { deviation_us } else { 0 };
            classic.sample(Span::from_micros(10_000 + queue_us + 2 * swing), 20.0);
            if number % 50 == 0 {
                classic.end_round(Span::from_micros(10_000));
            }
        }
        classic
    };
    assert_eq!(score(300, 500).least_alpha(), 0.0);
    assert_near(score(4000, 15_000).least_alpha(), 0.625, 1e-9);
}
