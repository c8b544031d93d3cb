use super::{Congestion, CongestionCause, Params};

/// cwnd and ssthresh with the slow start and congestion avoidance of RFC 5681, for controllers
/// similar to Reno in this crate and in others.
#[derive(Clone, Debug)]
pub struct Window {
    params: Params,
    cwnd: f64,
    ssthresh: u64,
    /// With growth by whole segments, the growth in bytes that does not make a segment yet.
    due: f64,
}

/// Tolerance, in segments, for the rounding errors of many small steps of growth.
const ROUNDING: f64 = 1e-6;

impl Window {
    /// The window at the beginning of a connection.
    pub fn new(params: &Params) -> Window {
        let mut window =
            Window { params: *params, cwnd: 0.0, ssthresh: params.initial_ssthresh, due: 0.0 };
        window.set_cwnd(params.initial_window as f64);
        window
    }

    /// The parameters of the connection.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// cwnd in bytes.
    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// ssthresh in bytes; `u64::MAX` for none.
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// The size of a full segment in bytes.
    pub fn mss(&self) -> f64 {
        f64::from(self.params.mss)
    }

    /// Changes the size of a full segment. Values in segments are scaled; cwnd stays the same, but
    /// is at least one segment.
    pub fn set_mss(&mut self, mss: u32) {
        let segments = self.params.least_window / u64::from(self.params.mss.max(1));
        self.params.least_window = segments * u64::from(mss);
        self.params.mss = mss;
        self.due = 0.0;
        self.set_cwnd(self.cwnd);
    }

    /// True while cwnd is below ssthresh.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh as f64
    }

    /// Sets cwnd to `bytes`, but not below one segment.
    pub fn set_cwnd(&mut self, bytes: f64) {
        self.cwnd = bytes.max(self.mss());
    }

    /// Sets ssthresh to `bytes`, but not below two segments (RFC 5681 §3.1, equation 4).
    pub fn set_ssthresh(&mut self, bytes: f64) {
        self.ssthresh = bytes.max(2.0 * self.mss()) as u64;
    }

    /// Grows cwnd by `credit` bytes, but not beyond ssthresh. Returns the rest of `credit`, for
    /// congestion avoidance: an ACK of many segments thus does not raise cwnd far beyond ssthresh.
    pub fn slow_start(&mut self, credit: u64) -> f64 {
        let credit = credit as f64;
        // RFC 5681 §3.1, equation 2, as far as ssthresh.
        let room = (self.ssthresh as f64 - self.cwnd).max(0.0);
        let used = credit.min(room);
        self.cwnd += used;
        credit - used
    }

    /// Grows cwnd by `slope` segments per window acknowledged, for an ACK of `credit` bytes. A
    /// slope of 1 is that of RFC 5681 §3.1, equation 3.
    pub fn congestion_avoidance(&mut self, credit: f64, slope: f64) {
        // RFC 5681 §3.1, equation 3: SMSS * SMSS / cwnd for each segment acknowledged.
        self.grow_by(slope * self.mss() * credit / self.cwnd);
    }

    /// Grows cwnd by `bytes` in congestion avoidance; with growth by whole segments, once they add
    /// up to one.
    pub(super) fn grow_by(&mut self, bytes: f64) {
        if !self.params.whole_segment_growth {
            self.cwnd += bytes;
            return;
        }
        self.due += bytes;
        let whole = libm::floor(self.due / self.mss() + ROUNDING) * self.mss();
        self.cwnd += whole;
        self.due = (self.due - whole).max(0.0);
    }

    /// Grows cwnd to `bytes` if it is smaller, as [`Window::grow_by`] does.
    pub(super) fn grow_to(&mut self, bytes: f64) {
        if self.params.whole_segment_growth {
            self.grow_by((bytes - self.cwnd - self.due).max(0.0));
        } else {
            self.set_cwnd(bytes.max(self.cwnd));
        }
    }

    /// Grows cwnd as Reno does for `credit` bytes: by slow start, then by congestion avoidance.
    pub fn grow(&mut self, credit: u64) {
        let rest = self.slow_start(credit);
        self.congestion_avoidance(rest, 1.0);
    }

    /// Caps cwnd for [`Controller::limit_growth`](super::Controller::limit_growth): at twice the largest flight in slow
    /// start, at that flight and `step` bytes in congestion avoidance. `step` is the growth for a window of data.
    pub fn limit_growth(&mut self, max_flight: u64, step: f64) {
        let flight = max_flight as f64;
        // draft-ietf-ccwg-ratelimited-increase, "Rate-Limited Increase": limit(maxFS).
        let limit = if self.in_slow_start() { 2.0 * flight } else { flight + step };
        self.set_cwnd(self.cwnd.min(limit));
    }

    /// Reduces the window as Reno does, with `factor` in place of one half. ssthresh becomes
    /// `factor` times the window, and cwnd the same, or one segment after a timeout.
    pub fn reduce(&mut self, congestion: &Congestion, factor: f64) {
        // RFC 5681 §3.1, equation 4: ssthresh = max(FlightSize / 2, 2 * SMSS).
        self.reduce_to(congestion, self.params.cut(congestion.window, factor));
    }

    /// The same by a `share` of the window.
    pub(super) fn reduce_by(&mut self, congestion: &Congestion, share: f64) {
        self.reduce_to(congestion, self.params.cut_by(congestion.window, share));
    }

    fn reduce_to(&mut self, congestion: &Congestion, cut: f64) {
        self.due = 0.0;
        if !congestion.hold_ssthresh {
            self.set_ssthresh(cut);
        }
        match congestion.cause {
            // RFC 5681 §3.1: the loss window is one segment.
            CongestionCause::Timeout => self.set_cwnd(self.mss()),
            CongestionCause::FastRetransmit | CongestionCause::Ecn => {
                // RFC 5681 §3.2 step 6: the window after a repair is ssthresh, two segments at least. An echo may
                // leave one (RFC 3168 §6.1.2).
                let is_loss = congestion.cause == CongestionCause::FastRetransmit;
                let least = if is_loss { 2.0 * self.mss() } else { self.mss() };
                // A smaller window stays the same: a reduction must not raise it.
                let least =
                    self.params.cut(self.cwnd, 1.0).min(least.max(self.params.least_window as f64));
                self.set_cwnd(cut.max(least));
            }
        }
    }

    /// Limits cwnd to `restart` bytes after an idle period (RFC 5681 §4.1).
    pub fn restart(&mut self, restart: u64) {
        self.set_cwnd(self.cwnd.min(restart as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests::{MSS, congestion, params};
    use alloc::vec::Vec;

    #[test]
    fn slow_start_doubles_the_window_in_a_round_trip() {
        let mut window = Window::new(&params());
        for _ in 0..4 {
            window.grow(u64::from(MSS));
        }
        assert_eq!(window.cwnd(), 8.0 * f64::from(MSS));
    }

    #[test]
    fn a_change_of_the_segment_size_leaves_the_window_and_its_least_in_segments() {
        let mut window = Window::new(&Params { least_window: 2 * u64::from(MSS), ..params() });
        window.set_cwnd(10_000.0);
        window.set_mss(1400);
        assert_eq!((window.cwnd(), window.mss()), (10_000.0, 1400.0));
        window.set_cwnd(3000.0);
        window.reduce(&congestion(CongestionCause::FastRetransmit, 3000.0), 0.5);
        assert_eq!(window.cwnd(), 2800.0);
        window.set_mss(9000);
        assert_eq!(window.cwnd(), 9000.0);
    }

    #[test]
    fn an_ack_of_many_segments_leaves_slow_start_at_ssthresh() {
        let mut window = Window::new(&params());
        window.set_ssthresh(8000.0);
        assert_eq!(window.slow_start(10_000), 6000.0);
        assert_eq!(window.cwnd(), 8000.0);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_in_a_round_trip() {
        let mut window = Window::new(&params());
        window.set_ssthresh(2000.0);
        window.set_cwnd(20_000.0);
        for _ in 0..20 {
            window.grow(u64::from(MSS));
        }
        assert!((window.cwnd() - 21_000.0).abs() < 30.0, "{}", window.cwnd());
    }

    /// As `tcp_cong_avoid_ai` of Linux: from 6 segments to 8 with 6 and 7 more acknowledged.
    #[test]
    fn whole_segments_are_added_when_a_window_of_them_was_acknowledged() {
        let mut window = Window::new(&Params { whole_segment_growth: true, ..params() });
        window.set_ssthresh(2000.0);
        window.set_cwnd(6000.0);
        let mut steps = Vec::new();
        for acked in 1..=13 {
            let before = window.cwnd();
            window.grow(u64::from(MSS));
            if window.cwnd() > before {
                steps.push((acked, window.cwnd()));
            }
        }
        assert_eq!(steps, [(6, 7000.0), (13, 8000.0)]);
    }

    #[test]
    fn a_window_grows_to_the_last_whole_segment_of_what_it_may_have_and_no_further() {
        let mut window = Window::new(&Params { whole_segment_growth: true, ..params() });
        window.set_cwnd(10_000.0);
        for (may_have, has) in [(11_500.0, 11_000.0), (11_500.0, 11_000.0), (9000.0, 11_000.0)] {
            window.grow_to(may_have);
            assert_eq!(window.cwnd(), has, "{may_have}");
        }
        window.grow_to(12_000.0);
        assert_eq!(window.cwnd(), 12_000.0);
        let mut smooth = Window::new(&params());
        smooth.set_cwnd(10_000.0);
        smooth.grow_to(11_500.0);
        smooth.grow_to(9000.0);
        assert_eq!(smooth.cwnd(), 11_500.0);
    }

    #[test]
    fn a_window_is_capped_by_the_largest_flight_as_the_phase_lets_it_grow() {
        let mut window = Window::new(&params());
        window.set_cwnd(30_000.0);
        window.limit_growth(10_000, 1000.0);
        assert_eq!(window.cwnd(), 20_000.0);
        window.limit_growth(20_000, 1000.0);
        assert_eq!(window.cwnd(), 20_000.0, "a cap raises nothing");
        window.set_ssthresh(20_000.0);
        window.limit_growth(12_000, 1000.0);
        assert_eq!(window.cwnd(), 13_000.0);
    }

    #[test]
    fn a_cut_forgets_what_is_not_a_segment_yet() {
        let mut window = Window::new(&Params { whole_segment_growth: true, ..params() });
        window.set_ssthresh(2000.0);
        window.set_cwnd(10_000.0);
        window.grow(9000);
        window.reduce(&congestion(CongestionCause::FastRetransmit, 10_000.0), 0.5);
        window.grow(4000);
        assert_eq!(window.cwnd(), 5000.0);
        window.grow(1000);
        assert_eq!(window.cwnd(), 6000.0);
    }

    #[test]
    fn small_windows_end_at_one_segment_and_two_of_ssthresh() {
        let mut window = Window::new(&params());
        window.reduce(&congestion(CongestionCause::Ecn, 1000.0), 0.5);
        assert_eq!((window.cwnd(), window.ssthresh()), (1000.0, 2000));
    }

    #[test]
    fn after_a_loss_two_segments_are_left_and_no_smaller_window_is_raised() {
        let mut window = Window::new(&params());
        window.set_cwnd(3000.0);
        window.reduce(&congestion(CongestionCause::FastRetransmit, 3000.0), 0.5);
        assert_eq!((window.cwnd(), window.ssthresh()), (2000.0, 2000));
        window.set_cwnd(1500.0);
        window.reduce(&congestion(CongestionCause::FastRetransmit, 1500.0), 0.5);
        assert_eq!(window.cwnd(), 1500.0);
    }

    #[test]
    fn linux_leaves_two_segments_and_raises_nothing_to_them() {
        let mut window = Window::new(&Params { least_window: 2000, ..params() });
        window.reduce(&congestion(CongestionCause::Ecn, 2500.0), 0.7);
        assert_eq!(window.cwnd(), 2000.0);
        window.reduce(&congestion(CongestionCause::Timeout, 2000.0), 0.7);
        window.reduce(&congestion(CongestionCause::Ecn, 1000.0), 0.7);
        assert_eq!(window.cwnd(), 1000.0);
    }

    #[test]
    fn a_held_ssthresh_stays_while_cwnd_falls() {
        let mut window = Window::new(&params());
        window.set_ssthresh(50_000.0);
        let held =
            Congestion { hold_ssthresh: true, ..congestion(CongestionCause::Timeout, 20_000.0) };
        window.reduce(&held, 0.5);
        assert_eq!((window.cwnd(), window.ssthresh()), (1000.0, 50_000));
    }

    #[test]
    fn whole_segment_cuts_floor_before_and_after() {
        let whole = Params { whole_segment_cuts: true, ..params() };
        let mut window = Window::new(&whole);
        window.reduce(&congestion(CongestionCause::FastRetransmit, 13_999.0), 0.5);
        assert_eq!((window.cwnd(), window.ssthresh()), (6000.0, 6000));
    }

    #[test]
    fn an_idle_restart_lowers_cwnd_and_never_raises_it() {
        let mut window = Window::new(&params());
        window.restart(10_000);
        assert_eq!(window.cwnd(), 4000.0);
        window.restart(2000);
        assert_eq!(window.cwnd(), 2000.0);
        window.restart(0);
        assert_eq!(window.cwnd(), 1000.0);
    }
}
