//! Pacing: what the window allows goes out over the round trip and not at once, at the rates of Linux
//! (`sk_pacing_rate`) and in its bursts of a millisecond. Those are not bounded by what an IP packet
//! holds, as Linux's are: a carrier's timer may have no finer ticks.

use super::{Connection, Run};
use crate::deadline::Deadline;
use crate::recovery::Phase;
use windlass_base::{Span, Time};

/// A burst is what goes out in this time, ...
const BURST: Span = Span::from_millis(1);
/// ... two segments at least, so that a receiver with delayed ACKs answers each.
const LEAST_BURST_SEGMENTS: u64 = 2;

/// Of paths that are worth it.
pub(super) const LEAST_RTT: Span = Span::from_millis(2);

/// When the next burst may begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// When all that was sent would be out at the rate.
    due: Time,
    /// When the burst began, and how many bytes it may still have.
    begun: Time,
    left: u64,
}

/// A rate: so many bytes in a span.
#[derive(Copy, Clone, Debug)]
struct Rate {
    bytes: u128,
    span_ns: u128,
}

impl Rate {
    fn bytes_in(self, span: Span) -> u64 {
        let bytes = self.bytes * u128::from(span.as_nanos()) / self.span_ns;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    fn time_of(self, bytes: u64) -> Span {
        let ns = self.span_ns * u128::from(bytes) / self.bytes;
        Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// The rate that holds, and what it makes of a burst in bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    rate: Rate,
    burst: u64,
}

impl Pace {
    fn new(rate: Rate, mss: u32) -> Pace {
        let mss = u64::from(mss);
        let segments = rate.bytes_in(BURST) / mss;
        Pace { rate, burst: segments.max(LEAST_BURST_SEGMENTS) * mss }
    }
}

impl Pacer {
    fn may_begin(&self, now: Time) -> bool {
        self.due <= now && (self.left == 0 || self.begun < now)
    }

    /// Bytes that may go out now.
    fn left(&mut self, now: Time, pace: &Pace) -> u64 {
        // What went out at a lower rate than this is not to be waited for longer than by this.
        self.due = self.due.min(now + pace.rate.time_of(pace.burst));
        if self.may_begin(now) { pace.burst } else { self.left }
    }

    fn sent(&mut self, now: Time, bytes: u64, pace: &Pace) {
        if self.may_begin(now) {
            // A carrier whose timer is late keeps the rate: half a burst's time is caught up.
            let late = now.saturating_since(self.due).min(pace.rate.time_of(pace.burst) / 2);
            self.due = Time::from_nanos(now.as_nanos() - late.as_nanos());
            self.begun = now;
            self.left = pace.burst;
        }
        self.due += pace.rate.time_of(bytes);
        self.left = self.left.saturating_sub(bytes);
    }
}

impl Connection {
    /// The pace, if there is one.
    #[inline]
    pub(super) fn pace(&self) -> Option<Pace> {
        if self.options.pacing { self.pace_of_window() } else { None }
    }

    /// None before the first RTT sample, nor for the initial window, nor on a path so short that a
    /// window is hardly more than a burst: a thousand connections there would send by twos.
    fn pace_of_window(&self) -> Option<Pace> {
        let srtt = self.rtt_to_pace_by();
        let initial = self.stats.data_segments_sent < u64::from(self.config.window.initial);
        let near = self.rtt.min_rtt().is_none_or(|rtt| rtt < LEAST_RTT);
        if initial || near || srtt.is_zero() {
            return None;
        }
        let cwnd = self.congestion.cwnd_bytes();
        // Twice the window in a round trip, or slow start could not double it; towards its end, and
        // afterwards, a fifth more than the window, so that it is cwnd that limits.
        let fifths = if cwnd < self.congestion.ssthresh() / 2 { 10 } else { 6 };
        let window = self.window_in_force().max(self.in_flight()).max(1);
        let rate =
            Rate { bytes: u128::from(window) * fifths, span_ns: u128::from(srtt.as_nanos()) * 5 };
        Some(Pace::new(rate, self.agreed.mss))
    }

    /// SRTT; but an outage that it remembers and the last sample does not is over, and no burst is to
    /// wait for longer than the retransmission timer may run.
    fn rtt_to_pace_by(&self) -> Span {
        let longest = self.config.timers.rto.max / 4;
        self.rtt.smoothed().min(self.rtt.last_sample() * 2).min(longest)
    }

    /// How many segments, of at most `max`, may go out now; `None`: the pacer's timer tells when.
    pub(super) fn paced(&mut self, now: Time, max: u32) -> Option<u32> {
        self.timers.wait = Deadline::NEVER;
        let Some(pace) = self.pace() else { return Some(max) };
        let left = self.pacer.left(now, &pace);
        if left == 0 {
            if self.waits_for_pacer() {
                self.timers.wait = Deadline::at(self.pacer.due);
            }
            return None;
        }
        let segments = left.div_ceil(u64::from(self.agreed.mss));
        Some(max.min(u32::try_from(segments).unwrap_or(u32::MAX)))
    }

    /// The windows would let something out.
    fn waits_for_pacer(&mut self) -> bool {
        if self.recovery.phase != Phase::Open {
            return self.window_in_force() > self.pipe();
        }
        self.skip_sacked();
        self.next_data_at_nxt(1).is_some()
    }

    /// `run` goes out, and `pace` held before it.
    pub(super) fn note_paced(&mut self, now: Time, run: &Run, pace: Option<Pace>) {
        if let Some(pace) = pace {
            let bytes = u64::from(run.first.payload_len) * u64::from(run.count);
            self.pacer.sent(now, bytes.max(1), &pace);
        }
    }

    /// A timeout's retransmission waits for nothing that was sent before it.
    pub(super) fn reset_pacer(&mut self) {
        self.pacer = Pacer::default();
        self.timers.wait = Deadline::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1000;

    /// A segment in `us` microseconds.
    fn pace(us: u64) -> Pace {
        let span_ns = u128::from(Span::from_micros(us).as_nanos());
        Pace::new(Rate { bytes: u128::from(SEGMENT), span_ns }, SEGMENT as u32)
    }

    /// Sends whatever the pacer lets out each `step_us` for 100 ms; the bytes, and the most at once.
    fn sent(pace: &Pace, step_us: u64, run: u64) -> (u64, u64) {
        let (mut pacer, mut total, mut most) = (Pacer::default(), 0, 0);
        for step in 0..100_000 / step_us {
            let now = Time::ZERO + Span::from_secs(1) + Span::from_micros(step * step_us);
            let mut at_once = 0;
            while pacer.left(now, pace) > 0 {
                let bytes = pacer.left(now, pace).min(run);
                pacer.sent(now, bytes, pace);
                at_once += bytes;
            }
            total += at_once;
            most = most.max(at_once);
        }
        (total, most)
    }

    #[test]
    fn a_burst_is_a_millisecond_and_two_segments_at_least() {
        assert_eq!(pace(100).burst, 10 * SEGMENT);
        assert_eq!(pace(10_000).burst, 2 * SEGMENT);
        assert_eq!(pace(1).burst, 1000 * SEGMENT);
    }

    #[test]
    fn the_rate_is_kept_whatever_the_size_of_runs() {
        for (us, bytes) in [(10, 10_000_000), (100, 1_000_000), (10_000, 10_000)] {
            for run in [SEGMENT, 3 * SEGMENT, u64::MAX] {
                let (total, most) = sent(&pace(us), 1, run);
                let burst = pace(us).burst;
                assert!((bytes..=bytes + 2 * burst).contains(&total), "{total} bytes for {bytes}");
                assert_eq!(most, burst);
            }
        }
    }

    #[test]
    fn a_timer_late_by_less_than_half_a_burst_costs_no_throughput() {
        // Ten segments a millisecond, looked at each 1.4 ms.
        let (total, _) = sent(&pace(100), 1400, u64::MAX);
        assert!(total >= 700_000, "{total}");
        let (total, _) = sent(&pace(100), 300, u64::MAX);
        assert!((980_000..1_020_000).contains(&total), "{total}");
    }

    #[test]
    fn what_was_not_used_is_no_credit() {
        let (mut pacer, pace) = (Pacer::default(), pace(100));
        pacer.sent(Time::from_nanos(1), pace.burst, &pace);
        let later = Time::ZERO + Span::from_secs(10);
        pacer.sent(later, pace.burst, &pace);
        assert_eq!(pacer.left(later, &pace), 0);
        assert_eq!(pacer.due.saturating_since(later), Span::from_micros(500));
    }
}
