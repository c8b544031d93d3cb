//! Properties of every controller, and the sample values for the controllers' own tests.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub(super) const MSS: u32 = 1000;

/// Segments of 1000 bytes, an initial window of four.
pub(super) fn params() -> Params {
    Params {
        mss: MSS,
        initial_window: 4000,
        initial_ssthresh: u64::MAX,
        whole_segment_cuts: false,
        whole_segment_growth: false,
        abe: false,
        least_window: 1000,
        paced_from: None,
    }
}

/// An ACK of `credit` bytes at `ms`, on a path of 100 ms.
pub(super) fn ack(ms: u64, credit: u64) -> Ack {
    let rtt = Span::from_millis(100);
    Ack {
        now: Time::ZERO + Span::from_millis(ms),
        bytes_acked: credit,
        credit,
        rtt: Some(rtt),
        smoothed_rtt: rtt,
        min_rtt: Some(rtt),
        in_flight: credit,
        acked_total: 0,
        sent_total: 0,
    }
}

/// Congestion at the origin of time, with a window of `window` bytes.
pub(super) fn congestion(cause: CongestionCause, window: f64) -> Congestion {
    Congestion {
        now: Time::ZERO,
        cause,
        window,
        hold_ssthresh: false,
        smoothed_rtt: Span::from_millis(100),
    }
}

#[test]
fn every_name_makes_the_controller_of_that_name() {
    for name in NAMES {
        let factory = by_name(name).expect("a name of the list is known");
        assert_eq!(factory.name(), name);
    }
    assert!(by_name("Reno").is_none());
}

/// All controllers that lower their window after a loss and raise it by what is acknowledged: not BBR and Prague, which
/// go by what is delivered, and not the one without congestion control.
pub(crate) fn window_keepers() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| !["prague", "bbr", "bbr3", "none"].contains(name))
}

/// A call that a connection may make to its controller.
#[derive(Clone, Debug)]
enum Step {
    Ack {
        after_ms: u64,
        credit: u64,
        rtt_ms: u64,
        sampled: bool,
    },
    Congestion {
        cause: CongestionCause,
        hold_ssthresh: bool,
    },
    IdleRestart {
        segments: u64,
    },
    /// The last cut was needless.
    Undo,
}

fn causes() -> impl Strategy<Value = CongestionCause> {
    prop_oneof![
        Just(CongestionCause::FastRetransmit),
        Just(CongestionCause::Timeout),
        Just(CongestionCause::Ecn),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ack = (0u64..300, 1u64..20_000, 1u64..500, any::<bool>()).prop_map(
        |(after_ms, credit, rtt_ms, sampled)| Step::Ack { after_ms, credit, rtt_ms, sampled },
    );
    let congestion = (causes(), proptest::bool::weighted(0.2))
        .prop_map(|(cause, hold_ssthresh)| Step::Congestion { cause, hold_ssthresh });
    let idle = (0u64..12).prop_map(|segments| Step::IdleRestart { segments });
    let step = prop_oneof![
        30 => ack,
        3 => congestion,
        1 => idle,
        1 => Just(Step::Undo),
    ];
    proptest::collection::vec(step, 1..400)
}

/// The parameters of a connection; `cubic` applies to that controller only.
#[derive(Clone, Debug)]
struct Start {
    params: Params,
    cubic: Cubic,
}

impl Start {
    fn factory(&self, name: &str) -> Arc<dyn ControllerFactory> {
        match name {
            "cubic" => Arc::new(self.cubic),
            _ => by_name(name).expect("a name of the list is known"),
        }
    }
}

fn cubics([hystart, trains, as_linux]: [bool; 3]) -> Cubic {
    let hystart = match (hystart, trains) {
        (false, _) => HyStart::Off,
        (true, false) => HyStart::Rfc9406,
        (true, true) => HyStart::AckTrains,
    };
    Cubic { hystart, as_linux, ..Cubic::default() }
}

fn starts() -> impl Strategy<Value = Start> {
    let ssthresh = prop_oneof![Just(u64::MAX), (2u64..200).prop_map(|n| n * u64::from(MSS))];
    let paced_from = proptest::option::of((0u64..5).prop_map(Span::from_millis));
    (1u64..20, ssthresh, any::<bool>(), any::<[bool; 3]>(), paced_from).prop_map(
        |(window, initial_ssthresh, whole_segment_cuts, options, paced_from)| Start {
            params: Params {
                initial_window: window * u64::from(MSS),
                initial_ssthresh,
                whole_segment_cuts,
                paced_from,
                ..params()
            },
            cubic: cubics(options),
        },
    )
}

/// The state of a simulated connection that calls its controller: its clock and its stream.
struct Driver {
    controller: Box<dyn Controller>,
    params: Params,
    now: Time,
    acked_total: u64,
    min_rtt: Span,
    /// The controller before the last reduction, and its window.
    before_cut: Option<(Box<dyn Controller>, ControllerState)>,
}

impl Driver {
    fn new(name: &str, start: &Start) -> Driver {
        Driver {
            controller: start.factory(name).build(&start.params),
            params: start.params,
            now: Time::ZERO,
            acked_total: 0,
            min_rtt: Span::MAX,
            before_cut: None,
        }
    }

    /// Takes a step and checks the properties of every controller.
    fn step(&mut self, step: &Step) {
        let before = (self.controller.cwnd(), self.controller.ssthresh());
        match *step {
            Step::Ack { after_ms, credit, rtt_ms, sampled } => {
                self.ack(after_ms, credit, rtt_ms, sampled);
                self.check_growth(before, credit);
            }
            Step::Congestion { cause, hold_ssthresh } => {
                let state = self.controller.state(Engine);
                self.before_cut = self.controller.snapshot().map(|saved| (saved, state));
                assert!(self.before_cut.is_some(), "this crate's controllers can be had back");
                self.congestion(cause, hold_ssthresh);
                self.check_cut(before, cause, hold_ssthresh);
            }
            Step::IdleRestart { segments } => {
                self.controller.on_idle_restart(segments * u64::from(MSS));
                let most = f64::from(MSS) * segments.max(1) as f64;
                assert_eq!(self.controller.cwnd(), before.0.min(most));
            }
            Step::Undo => {}
        }
        if matches!(step, Step::Undo)
            && let Some((saved, state)) = self.before_cut.take()
        {
            assert_eq!(saved.state(Engine), state, "what it became did not change what it was");
            self.controller = saved;
        }
        let cwnd = self.controller.cwnd();
        assert!(cwnd.is_finite() && cwnd >= f64::from(MSS), "cwnd {cwnd}");
        let published = self.controller.trace_names().len();
        let traced = self.controller.trace_values();
        assert!(traced[..published].iter().all(|value| value.is_finite() && *value > 0.0));
    }

    fn ack(&mut self, after_ms: u64, credit: u64, rtt_ms: u64, sampled: bool) {
        let rtt = Span::from_millis(rtt_ms);
        self.now += Span::from_millis(after_ms);
        self.acked_total += credit;
        self.min_rtt = self.min_rtt.min(rtt);
        self.controller.on_ack(&Ack {
            now: self.now,
            rtt: sampled.then_some(rtt),
            smoothed_rtt: rtt,
            min_rtt: Some(self.min_rtt),
            acked_total: self.acked_total,
            sent_total: self.acked_total + self.controller.cwnd() as u64,
            ..ack(0, credit)
        });
    }

    fn congestion(&mut self, cause: CongestionCause, hold_ssthresh: bool) {
        let window = self.controller.cwnd();
        let now = self.now;
        let congestion = Congestion { now, hold_ssthresh, ..congestion(cause, window) };
        self.controller.on_congestion(&congestion);
    }

    /// Slow start grows by at most one byte per byte acknowledged, so it at most doubles per round
    /// trip.
    fn check_growth(&self, before: (f64, u64), credit: u64) {
        let (cwnd, ssthresh) = before;
        if cwnd + credit as f64 <= ssthresh as f64 {
            assert!(self.controller.cwnd() <= cwnd + credit as f64);
        }
    }

    fn check_cut(&self, before: (f64, u64), cause: CongestionCause, held: bool) {
        let (cwnd, ssthresh) = (self.controller.cwnd(), self.controller.ssthresh());
        let mss = f64::from(MSS);
        assert!(cwnd <= before.0, "{cause:?} raised cwnd from {} to {cwnd}", before.0);
        if cause == CongestionCause::Timeout {
            assert_eq!(cwnd, mss);
        }
        if held {
            assert_eq!(ssthresh, before.1);
        } else {
            assert!(ssthresh >= 2 * u64::from(MSS));
            assert!(cause == CongestionCause::Ecn || ssthresh < u64::MAX);
        }
        if self.params.whole_segment_cuts {
            assert_eq!(cwnd % mss, 0.0);
            assert!(held || ssthresh == u64::MAX || ssthresh % u64::from(MSS) == 0);
        }
    }
}

/// The same cases in every run.
fn fixed_cases() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(fixed_cases())]

    #[test]
    fn every_controller_keeps_the_rules_of_a_window(start in starts(), steps in steps()) {
        for name in window_keepers() {
            let (mut driver, mut again) = (Driver::new(name, &start), Driver::new(name, &start));
            for step in &steps {
                driver.step(step);
                again.step(step);
                prop_assert_eq!(driver.controller.cwnd(), again.controller.cwnd());
                prop_assert_eq!(driver.controller.ssthresh(), again.controller.ssthresh());
                prop_assert_eq!(driver.controller.trace_values(), again.controller.trace_values());
            }
        }
    }

    #[test]
    fn a_round_trip_of_slow_start_doubles_the_window_at_most(
        start in starts(),
        rounds in 1usize..8,
        acks_a_segment in 1u64..4,
    ) {
        for name in window_keepers() {
            let params = Params { initial_ssthresh: u64::MAX, ..start.params };
            let mut driver = Driver::new(name, &Start { params, cubic: start.cubic });
            for _ in 0..rounds {
                let before = driver.controller.cwnd();
                let credit = u64::from(MSS) / acks_a_segment;
                for _ in 0..(before / credit as f64) as u64 {
                    driver.ack(1, credit, 100, true);
                }
                prop_assert!(driver.controller.cwnd() <= 2.0 * before);
            }
            prop_assert!(driver.controller.cwnd() > start.params.initial_window as f64);
        }
    }

    #[test]
    fn without_congestion_control_nothing_limits_and_nothing_asks_for_marks(
        start in starts(),
        steps in steps(),
    ) {
        let mut driver = Driver::new("none", &start);
        let state = driver.controller.state(Engine);
        // RFC 7323 §2.3: a window of 16 bits, scaled by 14.
        prop_assert!(state.cwnd > f64::from(u32::from(u16::MAX) << 14));
        prop_assert_eq!((state.ssthresh, state.ecn_codepoint), (u64::MAX, Ecn::NotEct));
        for step in &steps {
            match *step {
                Step::Ack { after_ms, credit, rtt_ms, sampled } => {
                    driver.ack(after_ms, credit, rtt_ms, sampled);
                }
                Step::Congestion { cause, hold_ssthresh } => driver.congestion(cause, hold_ssthresh),
                Step::IdleRestart { segments } => {
                    driver.controller.on_idle_restart(segments * u64::from(MSS));
                }
                Step::Undo => driver.controller.on_mss_change(2 * MSS),
            }
            prop_assert_eq!(driver.controller.state(Engine), state);
        }
    }
}
