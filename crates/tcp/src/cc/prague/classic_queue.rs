//! Tells a classic queue (RFC 3168) from one of low latency by the RTT: the passive detection of Briscoe and Ahmed 2019
//! (arXiv:1911.00710), with the constants of `tcp_prague` 0.6 in L4STeam/linux, which newer versions do without.

use windlass_base::Span;

/// The mean deviation of the RTT that divides the kinds of queue, in microseconds.
const DEVIATION: f64 = 750.0;
/// The mean delay of the queue from which on it speaks for a classic one, in microseconds.
const DEPTH: f64 = 2000.0;
/// The weights of the two logarithms.
const WEIGHT: f64 = 0.5;
/// Up to this score the queue counts as one of low latency, from one more on as a classic one.
const LOW_LATENCY: f64 = 8.0;
const SCORE_MAX: f64 = 2.0 * LOW_LATENCY + 1.0;
/// Alpha beside a classic queue: the reduction is that of a classic controller.
const CLASSIC_ALPHA: f64 = 0.625;

/// The estimates, in microseconds.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct ClassicQueue {
    /// The smoothed RTT; `None` before the first sample.
    smoothed: Option<f64>,
    /// The mean deviation of the RTT.
    deviation: f64,
    score: f64,
}

fn microseconds(span: Span) -> f64 {
    span.as_secs_f64() * 1e6
}

impl ClassicQueue {
    /// Takes an RTT sample. The means are slow, over several sawteeth of a window of `segments`.
    pub(super) fn sample(&mut self, rtt: Span, segments: f64) {
        let rtt = microseconds(rtt);
        let gain = 0.5 / libm::pow(segments.max(1.0), 1.5);
        let smoothed = *self.smoothed.get_or_insert(rtt);
        let error = rtt - smoothed;
        self.smoothed = Some(smoothed + gain * error);
        self.deviation += gain / 2.0 * (error.abs() - self.deviation);
    }

    /// Updates the score after a round, with the least RTT of the connection.
    pub(super) fn end_round(&mut self, min_rtt: Span) {
        let depth = self.smoothed.unwrap_or_default() - microseconds(min_rtt);
        let by_deviation = libm::log2(self.deviation.max(1.0) / DEVIATION);
        let by_depth = libm::log2(depth.max(DEPTH) / DEPTH);
        self.score = (self.score + WEIGHT * (by_deviation + by_depth)).clamp(0.0, SCORE_MAX);
    }

    pub(super) fn score(&self) -> f64 {
        self.score
    }

    /// The least alpha to react with.
    pub(super) fn least_alpha(&self) -> f64 {
        (self.score - LOW_LATENCY).clamp(0.0, 1.0) * CLASSIC_ALPHA
    }
}
