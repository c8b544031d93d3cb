//! One flow of the model: its cycles, from one reduction to the next, and the means over them.

use super::parameters::Parameters;
use windlass_base::Rng;

/// Cycles at the beginning that do not count.
const WARM_UP: u32 = 500;

/// A flow in steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Mean window over time, in segments.
    pub window: f64,
    /// The window's quantiles over time: 5, 25, 50, 75 and 95 %.
    pub window_quantiles: [f64; 5],
    /// Mean window slope over time, in segments per round trip.
    pub slope: f64,
    /// Packets sent in a round trip.
    pub packets_per_round_trip: f64,
    /// Reductions in a round trip.
    pub reductions_per_round_trip: f64,
}

/// A flow behind the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFlow {
    /// Its round-trip time with the queue, in seconds.
    pub rtt_s: f64,
    /// Its rate in packets per second.
    pub packets_per_s: f64,
    /// Its windows and slopes.
    pub flow: Flow,
}

/// A New-ECN flow with round-trip time `rtt_s` in seconds, each packet of which is marked with
/// `probability`. The same parameters and seed give the same figures.
///
/// A cycle begins with a reduction. The packets then in flight belong to it, so that their marks do
/// not count: their ACKs come during one round trip, followed by a pause, since the sender waited for the
/// window to open. Of the packets after that, the first mark ends the cycle. The slope rises after a
/// round trip without reduction, and with each further one. ACKs with an echo open no window.
pub fn flow(parameters: &Parameters, rtt_s: f64, probability: f64, seed: u64) -> Flow {
    let mut cycles = Cycles::new(parameters, rtt_s, probability, Rng::new(seed));
    for _ in 0..WARM_UP {
        cycles.step();
    }
    cycles.seen = Seen::default();
    for _ in 0..parameters.cycles {
        cycles.step();
    }
    cycles.seen.figures(parameters.cycles)
}

/// Integrals over a flow's cycles. Times are in round trips, windows and slopes are weighted by
/// time.
#[derive(Default)]
struct Seen {
    time: f64,
    window_time: f64,
    slope_time: f64,
    packets: f64,
    /// Mean windows and for how long.
    windows: Vec<(f64, f64)>,
}

impl Seen {
    fn figures(mut self, cycles: u32) -> Flow {
        self.windows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut passed, mut at) = (0.0, 0);
        let window_quantiles = [0.05, 0.25, 0.5, 0.75, 0.95].map(|share| {
            while at + 1 < self.windows.len() && passed + self.windows[at].1 < share * self.time {
                passed += self.windows[at].1;
                at += 1;
            }
            self.windows[at].0
        });
        Flow {
            window: self.window_time / self.time,
            window_quantiles,
            slope: self.slope_time / self.time,
            packets_per_round_trip: self.packets / self.time,
            reductions_per_round_trip: f64::from(cycles) / self.time,
        }
    }
}

struct Cycles<'a> {
    parameters: &'a Parameters,
    /// Growth of the slope in each round trip, in packets: beta times the square of the RTT.
    rise: f64,
    probability: f64,
    window: f64,
    slope: f64,
    rng: Rng,
    seen: Seen,
}

impl Cycles<'_> {
    fn new(parameters: &Parameters, rtt_s: f64, probability: f64, rng: Rng) -> Cycles<'_> {
        // Hamann 1999, equation 3.2: the slope rises by beta RTT² in a round trip.
        let rise = parameters.beta * rtt_s * rtt_s;
        // Where the flow settles if it is reduced in every round trip.
        let slope = rise * parameters.alpha_slope / (1.0 - parameters.alpha_slope);
        let window = (slope / (1.0 - parameters.alpha_window)).clamp(2.0, parameters.window_limit);
        Cycles { parameters, rise, probability, window, slope, rng, seen: Seen::default() }
    }

    fn step(&mut self) {
        let in_flight = self.window;
        // Hamann 1999, equations 3.3 and 3.5: the mark reduces the window and the slope.
        let reduced = in_flight * self.parameters.alpha_window;
        let reduced = if self.parameters.whole_segments { reduced.floor() } else { reduced };
        self.window = reduced.max(1.0);
        self.slope *= self.parameters.alpha_slope;
        // The sender is silent until the ACKs have come down to the smaller window.
        let pause = (in_flight - self.window).max(0.0) / in_flight;
        // ACKs of the flight open the window, but for those with an echo.
        let opened = self.open(in_flight * (1.0 - self.probability));
        self.pass(1.0, f64::midpoint(self.window, opened), in_flight);
        self.window = opened;
        self.pass(pause, self.window, 0.0);
        self.until_the_mark();
        // The ACK with the echo.
        self.pass(1.0 / self.window, self.window, 1.0);
    }

    /// ACKs without an echo, up to the one with it.
    fn until_the_mark(&mut self) {
        // Packets up to a mark of probability p are geometrically distributed.
        let unmarked = self.rng.exponential(1.0) / -(-self.probability).ln_1p();
        let mut left = unmarked.floor();
        // A round trip without a reduction raises the slope, and so does each further one.
        if left > 0.0 {
            self.slope += self.rise;
        }
        while left > 0.0 {
            let acks = left.min(self.window);
            let opened = self.open(acks);
            let mean = f64::midpoint(self.window, opened);
            self.pass(acks / mean, mean, acks);
            self.window = opened;
            left -= acks;
            if left > 0.0 {
                self.slope += self.rise;
            }
        }
    }

    /// The window after so many ACKs, each of which adds the slope over the window.
    fn open(&self, acks: f64) -> f64 {
        // dW/dn = slope / W (Hamann 1999, equation 3.1), integrated over the ACKs.
        let grown = (self.window * self.window + 2.0 * self.slope * acks).sqrt();
        grown.min(self.parameters.window_limit.max(self.window))
    }

    fn pass(&mut self, round_trips: f64, window: f64, packets: f64) {
        self.seen.time += round_trips;
        self.seen.window_time += window * round_trips;
        self.seen.slope_time += self.slope * round_trips;
        self.seen.packets += packets;
        self.seen.windows.push((window, round_trips));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlimited() -> Parameters {
        Parameters { window_limit: 1e6, whole_segments: false, ..Parameters::default() }
    }

    /// With few marks the window grows with R^(2/3) and p^(-2/3): the rate falls with R^(-1/3).
    #[test]
    fn with_few_marks_short_round_trips_get_more() {
        let of = |rtt_s, p| flow(&unlimited(), rtt_s, p, 1).window;
        let by_rtt = (of(0.08, 1e-5) / of(0.01, 1e-5)).ln() / 8.0_f64.ln();
        assert!((by_rtt - 2.0 / 3.0).abs() < 0.05, "{by_rtt}");
        let by_p = (of(0.02, 1e-5) / of(0.02, 8e-5)).ln() / 8.0_f64.ln();
        assert!((by_p - 2.0 / 3.0).abs() < 0.05, "{by_p}");
    }

    /// With a mark in every round trip the window is beta R^2 over (1 - alpha_wnd)(1 - alpha_slp) and
    /// no longer depends on p: the rate grows with R.
    #[test]
    fn with_a_mark_in_every_round_trip_long_round_trips_get_more() {
        let rtt_s = 1.0;
        let few = flow(&unlimited(), rtt_s, 0.01, 1);
        let more = flow(&unlimited(), rtt_s, 0.02, 1);
        assert!(few.reductions_per_round_trip > 0.85, "{few:?}");
        let expected = 16.0 * 0.9 / 0.01;
        for found in [&few, &more] {
            assert!((0.85..1.15).contains(&(found.window / expected)), "{found:?}");
        }
        let quarter = flow(&unlimited(), rtt_s / 2.0, 0.04, 1);
        assert!((3.4..4.6).contains(&(few.window / quarter.window)), "{quarter:?}");
    }

    #[test]
    fn quantiles_ascend_around_the_mean() {
        let found = flow(&Parameters::default(), 0.07, 0.02, 3);
        assert!(found.window_quantiles.is_sorted());
        assert!(
            found.window_quantiles[1] < found.window && found.window < found.window_quantiles[3]
        );
        assert_eq!(found, flow(&Parameters::default(), 0.07, 0.02, 3));
    }

    #[test]
    fn the_window_stays_within_its_limit() {
        let found = flow(&Parameters::default(), 0.3, 1e-4, 3);
        assert!(found.window_quantiles[4] <= 128.0 && found.window > 110.0, "{found:?}");
    }
}
