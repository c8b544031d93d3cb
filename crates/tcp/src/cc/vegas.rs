use super::{Ack, Congestion, Controller, ControllerFactory, Params, Window};
use alloc::boxed::Box;

/// Vegas (Brakmo and Peterson, 1995): once per round trip it changes the window by a segment, so
/// that the queues of the path hold between `alpha` and `beta` segments of this connection. It
/// reacts to losses and ECN echoes as Reno does.
///
/// The number of queued segments is estimated as in Hamann 1999, section 2.1.3: cwnd * (1 - RTT_min
/// / RTT), where RTT is the mean of the samples of a round trip.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Vegas {
    /// The window grows if fewer segments than this are queued. 2.
    pub alpha: f64,
    /// The window shrinks if more segments than this are queued. 4.
    pub beta: f64,
    /// Slow start ends if more segments than this are queued. 1.
    pub gamma: f64,
}

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas { alpha: 2.0, beta: 4.0, gamma: 1.0 }
    }
}

impl ControllerFactory for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn build(&self, params: &Params) -> Box<dyn Controller> {
        Box::new(VegasController {
            thresholds: *self,
            window: Window::new(params),
            round: None,
            doubling: true,
        })
    }
}

#[derive(Clone, Debug)]
struct VegasController {
    thresholds: Vegas,
    window: Window,
    /// The current round trip; `None` before the first ACK and after a reduction.
    round: Option<Round>,
    /// Slow start grows in this round trip. It grows in every second one; in the others the window
    /// stays the same while RTTs are measured.
    doubling: bool,
}

/// A round trip and the RTTs measured in it.
#[derive(Clone, Debug)]
struct Round {
    /// The round trip ends when the ACK number reaches this stream position.
    end: u64,
    rtt_sum_s: f64,
    samples: u32,
}

impl Round {
    fn new(end: u64) -> Round {
        Round { end, rtt_sum_s: 0.0, samples: 0 }
    }

    fn sample(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_sum_s += rtt.as_secs_f64();
            self.samples += 1;
        }
    }

    /// The part of the RTT that packets did not spend in queues, 0 to 1; `None` without an RTT
    /// sample.
    fn empty_path_share(&self, ack: &Ack) -> Option<f64> {
        let base_s = ack.min_rtt?.as_secs_f64();
        let mean_s = self.rtt_sum_s / f64::from(self.samples);
        (mean_s > 0.0).then(|| (base_s / mean_s).min(1.0))
    }
}

impl VegasController {
    fn end_round(&mut self, share: Option<f64>) {
        // RTTs are measured in every second round trip of slow start, in which cwnd stays.
        let held = !self.doubling;
        self.doubling = held;
        let Some(share) = share else { return };
        // Hamann 1999, section 2.1.3: cwnd (1 - RTT_min / RTT) segments are in queues.
        let queued = self.window.cwnd() / self.window.mss() * (1.0 - share);
        if !self.window.in_slow_start() {
            self.adjust(queued);
        } else if held && queued > self.thresholds.gamma {
            self.leave_slow_start(share);
        }
    }

    fn adjust(&mut self, queued: f64) {
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        // Brakmo and Peterson 1995: a segment more below alpha, a segment less above beta.
        if queued < self.thresholds.alpha {
            self.window.set_cwnd(cwnd + mss);
        } else if queued > self.thresholds.beta {
            self.settle(cwnd - mss);
        }
    }

    /// Ends slow start at the window that the path carries without a queue, plus one segment to
    /// probe for more.
    fn leave_slow_start(&mut self, share: f64) {
        let (cwnd, mss) = (self.window.cwnd(), self.window.mss());
        let carried = self.window.params().cut(cwnd, share);
        self.settle(cwnd.min(carried + mss));
    }

    /// Lowers cwnd to at least two segments, without a return to slow start: ssthresh is lowered
    /// with it.
    fn settle(&mut self, cwnd: f64) {
        self.window.set_cwnd(cwnd.max(2.0 * self.window.mss()));
        let cwnd = self.window.cwnd();
        if (self.window.ssthresh() as f64) > cwnd {
            self.window.set_ssthresh(cwnd);
        }
    }
}

impl Controller for VegasController {
    fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &Ack) {
        let round = self.round.get_or_insert_with(|| Round::new(ack.sent_total));
        round.sample(ack);
        if ack.acked_total >= round.end {
            let share = round.empty_path_share(ack);
            *round = Round::new(ack.sent_total);
            self.end_round(share);
        }
        if self.doubling {
            self.window.slow_start(ack.credit);
        }
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.window.limit_growth(max_flight, self.window.mss());
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.reduce(congestion, 0.5);
        self.round = None;
        self.doubling = true;
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.window.set_mss(mss);
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.window.restart(restart);
        self.round = None;
        self.doubling = true;
    }

    fn snapshot(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionCause::{Ecn, FastRetransmit, Timeout};
    use crate::cc::tests::{MSS, ack, congestion, params};
    use windlass_base::Span;

    /// Round trips of 100 ms and a queue behind `carried` segments: RTT grows with the window.
    /// Returns cwnd in segments after each round trip.
    fn run(vegas: &mut dyn Controller, carried: f64, rounds: u64) -> alloc::vec::Vec<f64> {
        let mut acked = 0;
        let mut windows = alloc::vec::Vec::new();
        for round in 0..rounds {
            let segments = (vegas.cwnd() / f64::from(MSS)) as u64;
            let rtt_s = 0.1 * (segments as f64 / carried).max(1.0);
            for _ in 0..segments {
                acked += u64::from(MSS);
                vegas.on_ack(&Ack {
                    rtt: Some(Span::from_secs_f64(rtt_s)),
                    acked_total: acked,
                    sent_total: acked + segments * u64::from(MSS),
                    ..ack(round * 100, u64::from(MSS))
                });
            }
            windows.push(vegas.cwnd() / f64::from(MSS));
        }
        windows
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut vegas = Vegas::default().build(&Params { initial_window: 1000, ..params() });
        let windows = run(&mut *vegas, 1e9, 12);
        let last = windows[11];
        assert!((32.0..=128.0).contains(&last), "{windows:?}");
        for three in windows[2..].windows(3) {
            assert!(three[2] / three[0] > 1.4 && three[2] / three[0] < 2.9, "{windows:?}");
        }
    }

    #[test]
    fn slow_start_ends_where_a_queue_builds() {
        let mut vegas = Vegas::default().build(&params());
        run(&mut *vegas, 30.0, 12);
        assert!(vegas.ssthresh() < u64::MAX);
        assert!(vegas.cwnd() < 36_000.0, "{}", vegas.cwnd());
    }

    #[test]
    fn slow_start_leaves_what_the_path_carries_and_one_segment() {
        let after = |rounds| {
            let mut vegas = Vegas::default().build(&params());
            let windows = run(&mut *vegas, 30.0, rounds);
            (windows, vegas.ssthresh() < u64::MAX)
        };
        let exit = (1..30).find(|rounds| after(*rounds).1).expect("slow start ends");
        let windows = after(exit).0;
        let [.., before, left] = windows[..] else { panic!("{windows:?}") };
        assert!(before > left, "the exit lowers the window: {windows:?}");
        assert!((30.0..31.5).contains(&left), "{windows:?}");
    }

    #[test]
    fn the_window_holds_between_alpha_and_beta() {
        for start in [10_000, 31_000, 60_000] {
            let from = Params { initial_window: start, initial_ssthresh: 2000, ..params() };
            let mut vegas = Vegas::default().build(&from);
            let windows = run(&mut *vegas, 30.0, 60);
            let settled = windows[59];
            assert!((32.0..=34.0).contains(&settled), "from {start}: {windows:?}");
            assert!(windows[50..].iter().all(|&cwnd| cwnd == settled), "from {start}: {windows:?}");
        }
    }

    #[test]
    fn it_moves_by_one_segment_in_a_round_trip() {
        let from = Params { initial_window: 10_000, initial_ssthresh: 2000, ..params() };
        let mut vegas = Vegas::default().build(&from);
        let windows = run(&mut *vegas, 30.0, 10);
        assert!(windows.windows(2).all(|two| two[1] - two[0] <= 1.0), "{windows:?}");
        assert!(windows[9] >= 18.0, "{windows:?}");
    }

    #[test]
    fn a_standing_queue_leaves_it_two_segments() {
        let from = Params { initial_window: 6000, initial_ssthresh: 2000, ..params() };
        let mut vegas = Vegas { alpha: 0.1, beta: 0.2, gamma: 0.1 }.build(&from);
        let windows = run(&mut *vegas, 1.0, 20);
        assert_eq!(windows[19], 2.0, "{windows:?}");
    }

    #[test]
    fn losses_and_ecn_echoes_are_answered_as_by_reno() {
        for (cause, cwnd) in [(FastRetransmit, 10_000.0), (Ecn, 10_000.0), (Timeout, 1000.0)] {
            let mut vegas = Vegas::default().build(&params());
            vegas.on_congestion(&congestion(cause, 20_000.0));
            assert_eq!((vegas.cwnd(), vegas.ssthresh()), (cwnd, 10_000));
        }
    }

    #[test]
    fn a_round_trip_without_rtt_samples_decides_nothing() {
        let from = Params { initial_ssthresh: 4000, ..params() };
        let mut vegas = Vegas::default().build(&from);
        for total in 1..20 {
            let total = total * 1000;
            let blind = Ack { rtt: None, acked_total: total, sent_total: total, ..ack(0, 1000) };
            vegas.on_ack(&blind);
        }
        assert_eq!(vegas.cwnd(), 4000.0);
    }
}
