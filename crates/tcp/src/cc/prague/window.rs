//! The window and the pacing rate, of which one follows from the other.

use crate::cc::Params;
use windlass_base::Span;

/// The rate does not fall below 100 kbit/s.
const RATE_MIN: f64 = 12_500.0;
/// SRTTs up to this, in seconds, vary too much for a rate: the rate is kept in place of the window.
const SRTT_BY_RATE: f64 = 0.002;
/// The first half of a round is paced this much faster than the window, the second half this much slower, so that a
/// queue that marks from a threshold on marks a part of each round.
const PACING_VARIATION: f64 = 1.03;
/// The time whose data may leave at once, in seconds.
const BURST: f64 = 250e-6;
/// Fast growth: without marks for some rounds, a round adds as much data as the path carries in this time, in seconds.
const GROWTH: f64 = 1e-3;
/// Rounds from a mark to that growth: so many, and one more for each step of the rate in bytes per second.
const QUIET_ROUNDS: f64 = 7.0;
const QUIET_RATE_STEP: f64 = 1_920_000.0;
/// The RTT whose flows set the pace of the growth after a loss, in seconds.
const REFERENCE_RTT: f64 = 0.025;

/// The state before a reduction by a loss.
#[derive(Copy, Clone, Debug)]
struct Before {
    bytes: f64,
    ssthresh: Option<f64>,
    quiet_rounds: f64,
}

/// The window in bytes and the rate in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct PragueWindow {
    mss: f64,
    grows_fast: bool,
    bytes: f64,
    /// 0 before the first RTT sample.
    rate: f64,
    /// The rate is kept while the RTT changes, not the window.
    is_by_rate: bool,
    /// Slow start ends at this window; `None` after its end.
    slow_start_to: Option<f64>,
    ssthresh: f64,
    /// Rounds that add a segment each before larger steps.
    quiet_rounds: f64,
    before: Option<Before>,
    /// The window after the reduction that `before` belongs to.
    reduced_to: f64,
}

impl PragueWindow {
    pub(super) fn new(params: &Params, grows_fast: bool) -> PragueWindow {
        let bytes = params.initial_window as f64;
        let ssthresh = params.initial_ssthresh as f64;
        PragueWindow {
            mss: f64::from(params.mss),
            grows_fast,
            bytes,
            rate: 0.0,
            is_by_rate: false,
            slow_start_to: (bytes < ssthresh).then_some(ssthresh),
            ssthresh,
            quiet_rounds: QUIET_ROUNDS,
            before: None,
            reduced_to: bytes,
        }
    }

    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// The window in segments.
    pub(super) fn segments(&self) -> f64 {
        self.bytes / self.mss
    }

    pub(super) fn ssthresh(&self) -> u64 {
        self.ssthresh as u64
    }

    pub(super) fn is_in_slow_start(&self) -> bool {
        self.slow_start_to.is_some()
    }

    pub(super) fn set_mss(&mut self, mss: u32) {
        self.mss = f64::from(mss);
    }

    /// The pacing rate limits the sender, so the flight may exceed the window by what pacing varies and by a segment.
    pub(super) fn flight_limit(&self) -> u64 {
        let limit = match self.slow_start_to {
            Some(_) => self.bytes.max(self.mss),
            None => (self.bytes * PACING_VARIATION + self.mss).max(2.0 * self.mss),
        };
        limit as u64
    }

    /// The rate in bytes per second; `None` before the first RTT sample.
    pub(super) fn pacing_rate(&self, is_late: bool) -> Option<u64> {
        let factor = match self.slow_start_to {
            // As Linux: twice the window per RTT, so that it can double.
            Some(end) if self.bytes < end / 2.0 => 2.0,
            Some(_) => 1.0,
            None if is_late => 1.0 / PACING_VARIATION,
            None => PACING_VARIATION,
        };
        (self.rate > 0.0).then_some((self.rate * factor) as u64)
    }

    /// The bytes that may leave at once; `None` before the first RTT sample.
    pub(super) fn send_quantum(&self) -> Option<u64> {
        (self.rate > 0.0).then_some((self.rate * BURST) as u64)
    }

    /// Chooses what is kept at a change of the smoothed RTT: below a segment, and at the shortest RTTs, the rate.
    pub(super) fn begin_update(&mut self, srtt: f64) {
        if self.rate <= 0.0 {
            self.rate = self.bytes / srtt;
        }
        let is_by_rate = srtt <= SRTT_BY_RATE || srtt * self.rate <= self.mss;
        let keeps_rate = is_by_rate || self.is_by_rate;
        if keeps_rate && !self.is_in_slow_start() {
            self.bytes = self.rate * srtt;
        }
        self.is_by_rate = is_by_rate;
    }

    /// Aligns window and rate.
    pub(super) fn end_update(&mut self, srtt: f64) {
        self.rate = (self.bytes / srtt).max(RATE_MIN);
        if !self.is_in_slow_start() {
            self.bytes = self.rate * srtt;
        }
    }

    /// A round has passed.
    pub(super) fn note_round(&mut self) {
        self.quiet_rounds = (self.quiet_rounds - 1.0).max(0.0);
    }

    /// Grows by `unmarked` bytes delivered without a mark. `rtt_share` is the smoothed RTT divided by the virtual one.
    pub(super) fn grow(&mut self, unmarked: u64, rtt_share: f64) {
        let mut unmarked = unmarked as f64;
        if let Some(end) = self.slow_start_to {
            let used = unmarked.min(end - self.bytes);
            self.bytes += used;
            unmarked -= used;
            if self.bytes < end {
                return;
            }
            self.slow_start_to = None;
        }
        // A virtual RTT of data without marks adds a step; a segment alone adds no more than that.
        let per_virtual_rtt = (self.bytes / rtt_share).max(self.mss);
        self.bytes += unmarked * self.step() * rtt_share / per_virtual_rtt;
    }

    /// The bytes that a virtual RTT adds.
    fn step(&self) -> f64 {
        let is_fast = self.grows_fast && self.quiet_rounds <= 0.0;
        if is_fast { (self.rate * GROWTH).max(self.mss) } else { self.mss }
    }

    /// Reduces by half of `alpha`, after a mark.
    pub(super) fn reduce(&mut self, alpha: f64) {
        self.quiet_rounds = libm::floor(self.rate / QUIET_RATE_STEP) + QUIET_ROUNDS;
        self.leave_slow_start_at(self.bytes * (1.0 - alpha / 2.0));
    }

    /// Halves the window, after a loss.
    pub(super) fn halve(&mut self, virtual_rtt: Span) {
        self.remember();
        // The rounds in which a flow with the reference RTT comes back to this rate by a segment each.
        let shorter = REFERENCE_RTT / virtual_rtt.as_secs_f64();
        self.quiet_rounds = libm::floor(self.rate / 2.0 / self.mss * shorter * REFERENCE_RTT);
        self.leave_slow_start_at(self.bytes / 2.0);
    }

    fn leave_slow_start_at(&mut self, bytes: f64) {
        (self.bytes, self.ssthresh, self.slow_start_to) = (bytes, bytes, None);
        self.reduced_to = bytes;
    }

    /// Restarts from one segment after a timeout, in slow start to half the window (RFC 5681 §3.1).
    pub(super) fn restart(&mut self, holds_ssthresh: bool) {
        self.remember();
        if !holds_ssthresh {
            self.ssthresh = (self.bytes / 2.0).max(2.0 * self.mss);
        }
        (self.bytes, self.slow_start_to) = (self.mss, Some(self.ssthresh));
        self.reduced_to = self.bytes;
    }

    fn remember(&mut self) {
        self.before = Some(Before {
            bytes: self.bytes,
            ssthresh: self.slow_start_to,
            quiet_rounds: self.quiet_rounds,
        });
    }

    /// Makes the last reduction by a loss final.
    pub(super) fn forget_undo(&mut self) {
        self.before = None;
    }

    /// Takes back the last reduction by a loss, which was needless.
    pub(super) fn undo(&mut self) {
        let Some(before) = self.before.take() else { return };
        self.bytes += (before.bytes - self.reduced_to).max(0.0);
        self.quiet_rounds = self.quiet_rounds.min(before.quiet_rounds);
        self.slow_start_to = before.ssthresh;
        if let Some(ssthresh) = before.ssthresh {
            self.ssthresh = ssthresh;
        }
    }
}
