//! Pacing: the sender spreads the window over the round trip, at the rates of Linux
//! (`sk_pacing_rate`) and in bursts of a millisecond. Unlike those of Linux, bursts may exceed an
//! IP packet, because the timer of a carrier may be no finer than a millisecond. A controller may
//! choose its own rate and burst.

use super::{Connection, Run};
use crate::deadline::Deadline;
use crate::recovery::Phase;
use windlass_base::{Span, Time};

/// The time whose data, at the pacing rate, makes one burst.
const BURST: Span = Span::from_millis(1);
/// The smallest burst. A receiver with delayed ACKs answers two segments at once.
const LEAST_BURST_SEGMENTS: u64 = 2;

/// The resolution of a window of less than a segment: parts of a byte.
const WINDOW_PARTS: u128 = 1024;

/// Paths with a shorter RTT are not paced.
pub(super) const LEAST_RTT: Span = Span::from_millis(2);

/// When the next burst may begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// The time at which all data sent so far would have left at the pacing rate.
    due: Time,
    /// When the current burst began.
    begun: Time,
    /// Bytes that the current burst may still send.
    left: u64,
    /// Data waits until `due`, held back by nothing else.
    holds_back: bool,
}

/// A rate: `bytes` per `span_ns`.
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

/// The pacing rate in force and the size of a burst in bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pace {
    rate: Rate,
    burst: u64,
    /// A timer that is late by this time, or by half a burst's, does not reduce the rate. Data that comes late for
    /// another reason, such as a full window, does not go out in a larger burst.
    made_up: Span,
}

impl Pace {
    fn new(rate: Rate, mss: u32) -> Pace {
        let mss = u64::from(mss);
        let segments = rate.bytes_in(BURST) / mss;
        let burst = segments.max(LEAST_BURST_SEGMENTS) * mss;
        Pace { rate, burst, made_up: Span::ZERO }
    }

    /// The same in bursts of at most `quantum` bytes, in whole segments. A carrier's timer may be
    /// coarser than their time, so a whole millisecond is made up for.
    fn in_quanta(self, quantum: u64, mss: u32) -> Pace {
        let mss = u64::from(mss);
        let burst = (quantum / mss).max(1) * mss;
        // Half of a longer burst's time, which is made up for anyway, and the burst last a millisecond.
        let is_short = self.rate.time_of(burst) * 3 < BURST * 2;
        let made_up = if is_short { BURST } else { Span::ZERO };
        Pace { burst, made_up, ..self }
    }
}

impl Pacer {
    fn may_begin(&self, now: Time) -> bool {
        self.due <= now && (self.left == 0 || self.begun < now)
    }

    /// Bytes that may be sent now. No pause is longer than `longest`.
    fn left(&mut self, now: Time, pace: &Pace, longest: Span) -> u64 {
        // If the rate has risen since the last burst, its pause is shortened to the new rate.
        self.due = self.due.min(now + pace.rate.time_of(pace.burst).min(longest));
        if self.may_begin(now) { pace.burst } else { self.left }
    }

    fn sent(&mut self, now: Time, bytes: u64, pace: &Pace) {
        if self.may_begin(now) {
            if self.begun != now {
                self.take_lateness(now, pace);
            }
            self.begun = now;
            self.left = pace.burst;
        }
        self.due += pace.rate.time_of(bytes);
        self.left = self.left.saturating_sub(bytes);
    }

    /// A late timer does not reduce the rate: up to half a burst's time is made up for, or what `pace` says.
    fn take_lateness(&mut self, now: Time, pace: &Pace) {
        let half = pace.rate.time_of(pace.burst) / 2;
        let made_up = if self.holds_back { half.max(pace.made_up) } else { half };
        let late = now.saturating_since(self.due).min(made_up);
        self.due = Time::from_nanos(now.as_nanos() - late.as_nanos());
        self.holds_back = false;
    }
}

impl Connection {
    /// The pace in force; `None` if the connection does not pace now.
    #[inline]
    pub(super) fn pace(&self) -> Option<Pace> {
        if self.options.pacing { self.pace_of_controller() } else { None }
    }

    /// The pace that the controller wants, or the pace by the window.
    fn pace_of_controller(&self) -> Option<Pace> {
        let pace = match self.congestion.pacing_rate() {
            Some(bytes_per_s) => {
                let span_ns = u128::from(Span::from_secs(1).as_nanos());
                let rate = Rate { bytes: u128::from(bytes_per_s.max(1)), span_ns };
                Pace::new(rate, self.agreed.mss)
            }
            None if self.is_below_a_segment() => self.pace_below_a_segment()?,
            None => self.pace_of_window()?,
        };
        Some(match self.congestion.send_quantum() {
            Some(quantum) => pace.in_quanta(quantum, self.agreed.mss),
            None => pace,
        })
    }

    /// True if the connection paces a window of less than a segment.
    pub(super) fn is_below_a_segment(&self) -> bool {
        self.options.pacing && self.congestion.cwnd() < f64::from(self.agreed.mss)
    }

    /// A segment in such a time that the mean is cwnd per SRTT; `None` before the first RTT sample.
    fn pace_below_a_segment(&self) -> Option<Pace> {
        let srtt = self.rtt_to_pace_by();
        // The window may be a few bytes, whose fraction counts.
        let parts = ((self.congestion.cwnd() * WINDOW_PARTS as f64) as u128).max(1);
        let rate = Rate { bytes: parts, span_ns: u128::from(srtt.as_nanos()) * WINDOW_PARTS };
        (!srtt.is_zero()).then(|| Pace::new(rate, self.agreed.mss).in_quanta(0, self.agreed.mss))
    }

    /// When the pacer lets out the next segment of a window of less than a segment, if that is not before `now`.
    pub(super) fn held_below_a_segment(&self, now: Time) -> Option<Time> {
        (self.is_below_a_segment() && self.pacer.due >= now).then_some(self.pacer.due)
    }

    /// The pace by the current window. `None` before the first RTT sample, for the initial window,
    /// and on a path so short that a window is hardly more than a burst.
    fn pace_of_window(&self) -> Option<Pace> {
        let srtt = self.rtt_to_pace_by();
        let initial = self.stats.data_segments_sent < u64::from(self.config.window.initial);
        let near = self.rtt.min_rtt().is_none_or(|rtt| rtt < LEAST_RTT);
        if initial || near || srtt.is_zero() {
            return None;
        }
        let cwnd = self.congestion.cwnd_bytes();
        // In slow start twice the window per round trip, so that it can double. Near its end and
        // afterwards 1.2 times the window, so that cwnd limits the sender and not the pacer.
        let fifths = if cwnd < self.congestion.ssthresh() / 2 { 10 } else { 6 };
        let window = self.window_in_force().max(self.in_flight()).max(1);
        let rate =
            Rate { bytes: u128::from(window) * fifths, span_ns: u128::from(srtt.as_nanos()) * 5 };
        Some(Pace::new(rate, self.agreed.mss))
    }

    /// The RTT for the pacing rate: SRTT, but at most twice the last sample, as SRTT may still
    /// contain an outage that is over; and at most a quarter of the maximum RTO.
    fn rtt_to_pace_by(&self) -> Span {
        let longest = self.config.timers.rto.max / 4;
        self.rtt.smoothed().min(self.rtt.last_sample() * 2).min(longest)
    }

    /// The number of segments that the pacer allows now, at most `max`; `None` while it allows
    /// none. The timer `wait` then runs until the next burst.
    pub(super) fn paced(&mut self, now: Time, max: u32) -> Option<u32> {
        self.timers.wait = Deadline::NEVER;
        let Some(pace) = self.pace() else { return Some(max) };
        // After an outage a controller's own rate may be a segment in minutes.
        let left = self.pacer.left(now, &pace, self.config.timers.rto.max);
        if left == 0 {
            self.pacer.holds_back = self.waits_for_pacer();
            if self.pacer.holds_back {
                self.timers.wait = Deadline::at(self.pacer.due);
            }
            return None;
        }
        let segments = left.div_ceil(u64::from(self.agreed.mss));
        Some(max.min(u32::try_from(segments).unwrap_or(u32::MAX)))
    }

    /// True if the windows allow data that only the pacer holds back.
    fn waits_for_pacer(&mut self) -> bool {
        if self.recovery.phase != Phase::Open {
            return self.window_in_force() > self.pipe();
        }
        self.skip_sacked();
        self.next_data_at_nxt(1).is_some()
    }

    /// Records that `run` is sent; `pace` was in force before it.
    pub(super) fn note_paced(&mut self, now: Time, run: &Run, pace: Option<Pace>) {
        if let Some(pace) = pace {
            let bytes = u64::from(run.first.payload_len) * u64::from(run.count);
            self.pacer.sent(now, bytes.max(1), &pace);
        }
    }

    /// Resets the pacer, so that the retransmission after a timeout does not wait for earlier data.
    pub(super) fn reset_pacer(&mut self) {
        self.pacer = Pacer::default();
        self.timers.wait = Deadline::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::Established;
    use crate::conn::tests::config;
    use crate::{Config, Profile, SeqNumber};

    const SEGMENT: u64 = 1000;
    const LONGEST: Span = Span::from_secs(60);

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
            pacer.holds_back = true;
            while pacer.left(now, pace, LONGEST) > 0 {
                let bytes = pacer.left(now, pace, LONGEST).min(run);
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
    fn quanta_keep_the_rate_with_timers_of_a_millisecond() {
        // A hundred segments a millisecond, sixteen at once.
        let pace = pace(10).in_quanta(16 * SEGMENT + 1, SEGMENT as u32);
        assert_eq!(pace.burst, 16 * SEGMENT);
        for step_us in [1, 1000] {
            let (total, most) = sent(&pace, step_us, u64::MAX);
            assert!((9_900_000..=10_150_000).contains(&total), "{total} each {step_us} us");
            assert!(most <= 100 * SEGMENT + pace.burst, "{most} bytes, a millisecond has 100,000");
        }
    }

    #[test]
    fn an_idle_pacer_earns_no_credit() {
        let (mut pacer, pace) = (Pacer::default(), pace(100));
        pacer.sent(Time::from_nanos(1), pace.burst, &pace);
        let later = Time::ZERO + Span::from_secs(10);
        pacer.sent(later, pace.burst, &pace);
        assert_eq!(pacer.left(later, &pace, LONGEST), 0);
        assert_eq!(pacer.due.saturating_since(later), Span::from_micros(500));
    }

    #[test]
    fn a_slow_rate_makes_no_pause_longer_than_the_longest() {
        let (mut pacer, pace) = (Pacer::default(), pace(100_000_000));
        let now = Time::from_nanos(1);
        pacer.sent(now, pace.burst, &pace);
        assert_eq!(pacer.left(now, &pace, LONGEST), 0);
        assert_eq!(pacer.due.saturating_since(now), LONGEST);
        assert_eq!(pacer.left(now + LONGEST, &pace, LONGEST), pace.burst);
    }

    /// Connected, with this RTT, after its initial window of ten segments of 1000 bytes.
    fn connection(rtt: Span, change: impl FnOnce(&mut Config)) -> Connection {
        let config = config(Profile::Linux, "newreno").with(|c| {
            c.window.initial = 10;
            c.sending.pacing = true;
            change(c);
        });
        let (local_isn, remote_isn) = (SeqNumber(1), SeqNumber(1));
        let agreed = Established { local_isn, remote_isn, peer_mss: 1000, peer_window: 65535 };
        let mut connection = Connection::established(config, Time::ZERO, agreed);
        connection.rtt.sample(Time::ZERO, Time::ZERO + rtt);
        connection.stats.data_segments_sent = 10;
        connection
    }

    fn rate_of(connection: &Connection) -> u64 {
        connection.pace().expect("it paces").rate.bytes_in(Span::from_secs(1))
    }

    #[test]
    fn what_remains_of_a_burst_ends_with_its_time() {
        let (begun, now) = (Time::ZERO, Time::ZERO + Span::from_millis(5));
        let pacer = Pacer { due: begun, begun, left: 500, holds_back: false };
        assert!(!pacer.may_begin(begun), "the burst goes on");
        assert!(pacer.may_begin(now));
    }

    #[test]
    fn an_outage_in_the_rtt_slows_pacing_to_a_quarter_of_the_longest_timeout_at_most() {
        let outage = Span::from_secs(100);
        let connection = connection(outage, |c| c.timers.rto.max = Span::from_secs(60));
        assert_eq!(connection.rtt_to_pace_by(), Span::from_secs(15));
    }

    #[test]
    fn from_half_of_ssthresh_on_the_rate_is_a_fifth_above_the_window() {
        let rtt = Span::from_millis(100);
        let rate =
            |ssthresh| rate_of(&connection(rtt, |c| c.window.initial_ssthresh = Some(ssthresh)));
        // Ten segments of 988 bytes and 12 of options, ten times a second.
        assert_eq!(rate(2 * 9880 + 2), 197_600);
        assert_eq!(rate(2 * 9880), 118_560);
    }

    #[test]
    fn without_data_the_pacer_holds_nothing_back() {
        let mut connection = connection(Span::from_millis(100), |_| ());
        assert!(!connection.waits_for_pacer());
        connection.write(1000).expect("open");
        assert!(connection.waits_for_pacer());
    }
}
