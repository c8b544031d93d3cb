use super::*;
use crate::cc::tests::{MSS, ack, congestion, params};

const RTT_MS: u64 = 100;

fn as_linux() -> Cubic {
    Cubic { as_linux: true, ..Cubic::default() }
}

fn with_hystart(hystart: HyStart) -> Cubic {
    Cubic { hystart, ..Cubic::default() }
}

/// In congestion avoidance at `segments`, cut by a fast retransmit at the origin of time.
fn cut_at(segments: u64) -> Box<dyn Controller> {
    cut_with(segments, Cubic::default())
}

fn cut_with(segments: u64, cubic: Cubic) -> Box<dyn Controller> {
    let window = segments * u64::from(MSS);
    let at = Params { initial_window: window, initial_ssthresh: window, ..params() };
    let mut cubic = cubic.build(&at);
    cubic.on_congestion(&congestion(CongestionCause::FastRetransmit, window as f64));
    cubic
}

/// Round trips of ACKs for a full window each, evenly spread, from `from_ms` on.
fn run(cubic: &mut dyn Controller, from_ms: u64, rounds: u64) {
    for round in 0..rounds {
        let segments = (cubic.cwnd() / f64::from(MSS)) as u64;
        for segment in 0..segments {
            let ms = from_ms + round * RTT_MS + segment * RTT_MS / segments;
            cubic.on_ack(&ack(ms, u64::from(MSS)));
        }
    }
}

fn segments(cubic: &dyn Controller) -> f64 {
    cubic.cwnd() / f64::from(MSS)
}

/// RFC 9438 §4.2, figures 1 and 2, in segments.
fn w_cubic(w_max: f64, cwnd_epoch: f64, t_s: f64) -> f64 {
    let k_s = libm::cbrt((w_max - cwnd_epoch) / 0.4);
    0.4 * libm::pow(t_s - k_s, 3.0) + w_max
}

#[test]
fn a_loss_and_an_ecn_echo_leave_seven_tenths() {
    for cause in [CongestionCause::FastRetransmit, CongestionCause::Ecn] {
        let mut cubic = Cubic::default().build(&params());
        cubic.on_congestion(&congestion(cause, 100_000.0));
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (70_000.0, 70_000));
    }
}

#[test]
fn the_window_follows_w_cubic_through_the_plateau() {
    for controller in [Cubic::default(), as_linux()] {
        let mut cubic = cut_with(1000, controller);
        // K is 9.1 s: concave, the plateau, and convex.
        for second in 1..=14 {
            run(&mut *cubic, (second - 1) * 1000, 10);
            let expected = w_cubic(1000.0, 700.0, second as f64);
            let error = (segments(&*cubic) - expected) / expected;
            assert!(error.abs() < 0.01, "{second} s: {} not {expected}", segments(&*cubic));
        }
        assert!(segments(&*cubic) > 1040.0);
    }
}

#[test]
fn small_windows_grow_as_reno_with_a_cut_to_seven_tenths() {
    let mut cubic = cut_at(20);
    run(&mut *cubic, 0, 6);
    // 3 * (1 - 0.7) / (1 + 0.7) segments in each round trip (§4.3).
    let expected = 14.0 + 6.0 * 0.9 / 1.7;
    assert!((segments(&*cubic) - expected).abs() < 0.2, "{}", segments(&*cubic));
}

#[test]
fn past_the_window_of_the_last_cut_it_grows_as_reno() {
    let mut cubic = cut_at(10);
    run(&mut *cubic, 0, 8);
    assert!(segments(&*cubic) > 10.0);
    let before = segments(&*cubic);
    // The cubic is still below its plateau of 10 segments: K is 2 s.
    run(&mut *cubic, 800, 4);
    let gained = segments(&*cubic) - before;
    assert!((3.5..=4.1).contains(&gained), "{gained}");
}

#[test]
fn a_window_cut_below_its_plateau_gives_some_up() {
    let second_plateau_s = |fast_convergence| {
        let at = Params { initial_window: 1_000_000, initial_ssthresh: 1_000_000, ..params() };
        let mut cubic = Cubic { fast_convergence, ..Cubic::default() }.build(&at);
        cubic.on_congestion(&congestion(CongestionCause::Ecn, 1_000_000.0));
        cubic.on_congestion(&congestion(CongestionCause::Ecn, 700_000.0));
        run(&mut *cubic, 0, 50);
        segments(&*cubic)
    };
    // W_max is 700 * (1 + 0.7) / 2 against 700 (§4.7); both start at 490.
    let (given_up, kept) = (second_plateau_s(true), second_plateau_s(false));
    assert!((given_up - w_cubic(595.0, 490.0, 5.0)).abs() < 5.0, "{given_up}");
    assert!((kept - w_cubic(700.0, 490.0, 5.0)).abs() < 5.0, "{kept}");
}

#[test]
fn after_a_timeout_the_cubic_starts_flat_from_ssthresh() {
    let mut cubic = cut_at(1000);
    cubic.on_congestion(&congestion(CongestionCause::Timeout, 700_000.0));
    assert_eq!(cubic.cwnd(), 1000.0);
    assert!(cubic.ssthresh().abs_diff(490_000) <= 1);
    // Nine doublings lead to ssthresh.
    run(&mut *cubic, 0, 9);
    assert!((segments(&*cubic) - 490.0).abs() < 1.0);
    run(&mut *cubic, 900, 50);
    // K is 0 and W_max 490 (§4.8): 0.4 * 5^3 above it, or Reno's estimate if that is more.
    let expected = 490.0 + 0.4 * 125.0;
    assert!((segments(&*cubic) - expected).abs() < 6.0, "{}", segments(&*cubic));
}

#[test]
fn time_stands_still_while_the_sender_is_idle() {
    let (mut busy, mut idle) = (cut_at(1000), cut_at(1000));
    run(&mut *busy, 0, 20);
    run(&mut *idle, 0, 10);
    run(&mut *idle, 31_000, 10);
    // Within what the cubic gains in a round trip there, 3 * 0.4 * (K - 1.5)² * 0.1.
    let difference = segments(&*busy) - segments(&*idle);
    assert!(difference.abs() < 7.0, "{difference}");
}

/// A pause of more than two round trips is the application's (§5.8), and all but one round trip of it
/// is no time of the cubic. A shorter one may be the path's, and counts whole.
#[test]
fn a_pause_of_more_than_two_round_trips_is_no_time_of_the_cubic() {
    let grown_after = |pause_ms: u64| {
        let mut cubic = cut_at(1000);
        run(&mut *cubic, 0, 20);
        let before = segments(&*cubic);
        run(&mut *cubic, 20 * RTT_MS + pause_ms, 1);
        segments(&*cubic) - before
    };
    let counted = grown_after(RTT_MS);
    let more = grown_after(2 * RTT_MS - 10);
    assert!(more > 1.2 * counted, "{more} segments after 1.9 round trips, {counted} after one");
    for pause_ms in [2 * RTT_MS + 10, 4 * RTT_MS, 7 * RTT_MS, 9 * RTT_MS] {
        let grown = grown_after(pause_ms);
        let ratio = grown / counted;
        assert!((0.99..1.01).contains(&ratio), "{grown} segments after {pause_ms} ms, {counted}");
    }
}

#[test]
fn an_idle_restart_begins_a_new_stage_below_the_same_plateau() {
    let mut cubic = cut_at(1000);
    cubic.on_idle_restart(650_000);
    assert_eq!(cubic.cwnd(), 650_000.0);
    run(&mut *cubic, 60_000, 11);
    // Slow start to 700, then the cubic's first second.
    let expected = w_cubic(1000.0, 700.0, 1.0);
    assert!((segments(&*cubic) - expected).abs() < 10.0, "{}", segments(&*cubic));
}

#[test]
fn a_stage_that_starts_above_the_plateau_is_convex_from_its_start() {
    let at = Params { initial_window: 100_000, initial_ssthresh: 100_000, ..params() };
    let mut cubic = Cubic::default().build(&at);
    // FlightSize can be above cwnd, and so can what the cut leaves.
    cubic.on_congestion(&congestion(CongestionCause::FastRetransmit, 200_000.0));
    assert_eq!(segments(&*cubic), 140.0);
    run(&mut *cubic, 0, 50);
    let expected = 140.0 + 0.4 * 125.0;
    assert!((segments(&*cubic) - expected).abs() < 5.0, "{}", segments(&*cubic));
}

#[test]
fn with_hystart_a_growing_rtt_ends_the_first_slow_start() {
    let mut cubic = with_hystart(HyStart::Rfc9406).build(&params());
    let mut acked = 0;
    for round in 0..12 {
        let rtt = Span::from_millis(if round < 4 { 100 } else { 140 });
        let segments = (cubic.cwnd() / f64::from(MSS)) as u64;
        for _ in 0..segments {
            acked += u64::from(MSS);
            let sent_total = acked + segments * u64::from(MSS);
            let sample = ack(round * 140, u64::from(MSS));
            cubic.on_ack(&Ack { rtt: Some(rtt), acked_total: acked, sent_total, ..sample });
        }
    }
    assert!(cubic.ssthresh() < u64::MAX, "congestion avoidance began without a loss");
    // Doubled four times, then by a quarter in each of five round trips.
    assert!((150.0..350.0).contains(&segments(&*cubic)), "{}", segments(&*cubic));
}

#[test]
fn as_linux_it_grows_by_a_twentieth_in_a_round_trip_until_it_knows_of_a_loss() {
    let at = Params { initial_window: 200_000, initial_ssthresh: 200_000, ..params() };
    let mut cubic = as_linux().build(&at);
    run(&mut *cubic, 0, 10);
    let expected = 200.0 * libm::pow(1.05, 10.0);
    assert!((segments(&*cubic) / expected - 1.0).abs() < 0.02, "{}", segments(&*cubic));

    let before = segments(&*cubic);
    let cut = congestion(CongestionCause::FastRetransmit, before * f64::from(MSS));
    cubic.on_congestion(&cut);
    run(&mut *cubic, 1000, 10);
    let expected = w_cubic(before, 0.7 * before, 1.0);
    assert!((segments(&*cubic) - expected).abs() < 5.0, "{}", segments(&*cubic));
}

#[test]
fn as_linux_a_timeout_makes_it_forget_what_it_knew() {
    let at = Params { initial_window: 200_000, initial_ssthresh: 200_000, ..params() };
    let mut cubic = as_linux().build(&at);
    cubic.on_congestion(&congestion(CongestionCause::Timeout, 200_000.0));
    run(&mut *cubic, 0, 8);
    let before = segments(&*cubic);
    assert!((140.0..148.0).contains(&before), "slow start to 140, then on: {before}");
    run(&mut *cubic, 800, 10);
    let expected = before * libm::pow(1.05, 10.0);
    assert!((segments(&*cubic) / expected - 1.0).abs() < 0.03, "{}", segments(&*cubic));
}

#[test]
fn as_linux_small_windows_grow_by_half_a_segment_above_the_last_cut_too() {
    let mut cubic = cut_with(10, as_linux());
    // K is 2 s: for 1.5 s the cubic is below where it was cut, and Reno's window is not.
    run(&mut *cubic, 0, 15);
    let expected = 7.0 + 15.0 * 0.9 / 1.7;
    assert!((segments(&*cubic) - expected).abs() < 1.5, "{}", segments(&*cubic));
}

/// tcp_cong_avoid_ai() of Linux: where what is counted is enough for a shorter step, the window grows at once.
#[test]
fn as_linux_no_ack_takes_from_the_window_where_a_step_becomes_shorter() {
    for at in [20, 100, 400] {
        let mut cubic = cut_with(at, as_linux());
        for ms in 0..30_000 {
            let before = cubic.cwnd();
            cubic.on_ack(&ack(ms, u64::from(MSS)));
            let grown = cubic.cwnd() - before;
            assert!([0.0, f64::from(MSS)].contains(&grown), "{grown} at {ms} ms, cut at {at}");
        }
        assert!(segments(&*cubic) > at as f64, "beyond its plateau");
    }
}

/// `windows` of ACKs, each for a segment, in the tick of Linux's clock that begins at `from_ms`.
fn run_in_tick(cubic: &mut dyn Controller, from_ms: u64, windows: u64) {
    for _ in 0..windows * segments(cubic) as u64 {
        cubic.on_ack(&ack(from_ms + 1, u64::from(MSS)));
    }
}

#[test]
fn as_linux_a_window_grows_by_one_step_within_a_tick_and_holds_it_while_it_stays() {
    let mut cubic = cut_with(20, as_linux());
    // From 14 towards 20 in 2.5 s, so 15 next: a segment for 14, in each round trip of the tick.
    run_in_tick(&mut *cubic, 0, 3);
    assert_eq!(segments(&*cubic), 17.0);
    // The step is kept for eight ticks, although Reno's window exceeds cwnd in the meantime.
    for tick in 1..=8 {
        run_in_tick(&mut *cubic, 4 * tick, 2);
        assert_eq!(segments(&*cubic), 17.0, "tick {tick}");
    }
    run_in_tick(&mut *cubic, 4 * 9, 2);
    assert!(segments(&*cubic) > 18.0, "{}", segments(&*cubic));
}

#[test]
fn with_trains_the_rules_of_slow_start_hold_anew_after_a_timeout() {
    let mut cubic = with_hystart(HyStart::AckTrains).build(&params());
    let mut acked = 0;
    let mut until_left = |cubic: &mut dyn Controller, from_ms: u64| {
        let before = cubic.ssthresh();
        (0..2000).find(|n| {
            acked += u64::from(MSS);
            let sent_total = acked + cubic.cwnd() as u64;
            let sample = ack(from_ms + n, u64::from(MSS));
            cubic.on_ack(&Ack { acked_total: acked, sent_total, ..sample });
            cubic.ssthresh() < before
        })
    };
    assert!(until_left(&mut *cubic, 0).is_some(), "a train of 50 ms");
    cubic.on_congestion(&congestion(CongestionCause::Timeout, 500_000.0));
    assert_eq!(cubic.ssthresh(), 350_000);
    assert!(until_left(&mut *cubic, 10_000).is_some(), "and another");
    assert!(until_left(&mut *cubic, 20_000).is_none(), "congestion avoidance follows");
}

#[test]
fn a_paced_slow_start_leaves_half_of_its_window_and_goes_on_from_there() {
    let from = Some(Span::from_millis(2));
    let start = Params { initial_window: 150_000, paced_from: from, ..params() };
    let mut cubic = with_hystart(HyStart::AckTrains).build(&start);
    // An ACK each millisecond: after 102 of them the train is longer than 100 ms and a burst.
    for n in 0..=102 {
        let now = ack(n, u64::from(MSS));
        let acked_total = (n + 1) * u64::from(MSS);
        cubic.on_ack(&Ack { acked_total, sent_total: acked_total + 150_000, ..now });
    }
    assert_eq!(cubic.ssthresh(), 126_000);
    assert!((126.0..127.0).contains(&segments(&*cubic)), "{}", segments(&*cubic));
}

#[test]
fn one_round_trip_raises_the_window_by_half_at_most() {
    let steep = Cubic { c: 1e6, ..Cubic::default() };
    let at = Params { initial_window: 100_000, initial_ssthresh: 50_000, ..params() };
    let mut cubic = steep.build(&at);
    cubic.on_ack(&ack(0, 1000));
    let before = cubic.cwnd();
    cubic.on_ack(&ack(150, before as u64));
    assert!(cubic.cwnd() <= 1.5 * before);
    assert!(cubic.cwnd() > 1.49 * before);
}
#[test]
fn as_linux_the_window_grows_by_at_most_a_segment_for_two() {
    let mut cubic = cut_with(10, as_linux());
    for n in 0..400 {
        cubic.on_ack(&ack(n * 100, 1));
    }
    let before = segments(&*cubic);
    // After forty seconds the cubic is above by tens of thousands of segments.
    for _ in 0..100 {
        cubic.on_ack(&ack(40_000, u64::from(MSS)));
    }
    let grown = segments(&*cubic) - before;
    assert!((49.0..=51.0).contains(&grown), "{grown}");
}

#[test]
fn with_smaller_segments_it_grows_by_as_many() {
    for controller in [Cubic::default(), as_linux()] {
        let mut cubic = cut_with(20, controller);
        let before = cubic.cwnd();
        cubic.on_mss_change(MSS / 2);
        for n in 0..100 {
            cubic.on_ack(&ack(n, u64::from(MSS / 2)));
        }
        let grown = cubic.cwnd() - before;
        assert!((1.0..10_000.0).contains(&grown), "{grown} bytes");
    }
}

/// RFC 9438 §4.3.
#[test]
fn once_the_reno_friendly_window_has_reached_the_former_one_it_grows_like_reno() {
    let (constants, params) = (Cubic::default(), params());
    let cubic = CubicController {
        constants,
        window: Window::new(&params),
        w_max: None,
        cwnd_prior: Some(20_000.0),
        epoch: None,
        last_ack: Time::ZERO,
        exit: Exit::of(constants.hystart, params.paced_from),
        acked: 0.0,
        step: None,
        round_growth: 0.0,
    };
    let alpha = |w_est| {
        let epoch = Epoch { start: Time::ZERO, plateau: 0.0, k_s: 0.0, c: 0.0, w_est };
        cubic.alpha(&epoch)
    };
    assert!((alpha(19_999.0) - 9.0 / 17.0).abs() < 1e-9, "3 (1 - 0.7) / (1 + 0.7)");
    assert!((alpha(20_000.0) - 1.0).abs() < 1e-9);
}
