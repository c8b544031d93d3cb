//! An end of CUBIC's slow start; `exit` chooses between this and `hystart`.

use super::Ack;
use windlass_base::{Span, Time};

/// The original HyStart (S. Ha, I. Rhee, *Taming the elephants: new TCP slow start*, 2011) with the
/// changes of Linux. Slow start ends when the ACKs of a round trip arrive in a train as long as
/// half the path's RTT (the whole RTT where the sender paces), or when the minimum RTT of a round
/// trip exceeds the path's.
///
/// A paced sender sees such a train one round trip later. By then much of the window is queued at
/// the bottleneck, so slow start leaves half of the window and the queue drains.
#[derive(Clone, Debug)]
pub(super) struct AckTrains {
    /// The minimum RTT from which the sender paces a window; `None` without pacing.
    paced_from: Option<Span>,
    /// The path's RTT: the minimum so far.
    least: Option<Span>,
    /// The minimum RTT of the current round trip so far.
    this_round: Option<Span>,
    samples: u32,
    /// When the round began, and the last ACK that belongs to its train.
    begun: Time,
    train_end: Time,
    /// The round trip ends when the ACK number passes this stream position.
    round_end: u64,
    /// A train ended slow start while the sender paced: much of the window is queued.
    is_queue_long: bool,
}

/// In smaller windows the lengths of trains and the delays are not evaluated.
const LEAST_SEGMENTS: f64 = 16.0;
/// ACKs that are further apart than this do not belong to the same train.
const SPACING: Span = Span::from_millis(2);
/// A burst waits for the bursts before it: at most four of the largest size, at slow start's rate.
const BURSTS_BYTES: f64 = 4.0 * 65_536.0;
const MAX_BURSTS: Span = Span::from_millis(1);
const SAMPLES: u32 = 8;
const MIN_DELAY: Span = Span::from_millis(4);
const MAX_DELAY: Span = Span::from_millis(16);

impl AckTrains {
    pub(super) fn new(paced_from: Option<Span>) -> AckTrains {
        AckTrains {
            paced_from,
            least: None,
            this_round: None,
            samples: 0,
            begun: Time::ZERO,
            train_end: Time::ZERO,
            round_end: 0,
            is_queue_long: false,
        }
    }

    /// Whether slow start is over with this ACK, before which the window had `cwnd` bytes.
    pub(super) fn is_over(&mut self, ack: &Ack, cwnd: f64, mss: f64) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if ack.acked_total > self.round_end {
            self.begin_round(ack);
        }
        cwnd >= LEAST_SEGMENTS * mss
            && (self.is_train_long(ack, least, cwnd) || self.is_late(rtt, least))
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.begun = ack.now;
        self.train_end = ack.now;
        self.round_end = ack.sent_total;
        self.this_round = None;
        self.samples = 0;
    }

    /// The ACKs of a window sent as a burst arrive within half the RTT while the window fills half
    /// the path. Pacing itself spreads a window over that time, so a paced train must be twice as
    /// long.
    fn is_train_long(&mut self, ack: &Ack, least: Span, cwnd: f64) -> bool {
        if ack.now.saturating_since(self.train_end) > SPACING {
            return false;
        }
        self.train_end = ack.now;
        // As hystart_ack_delay() of Linux.
        let bursts_s = BURSTS_BYTES * ack.smoothed_rtt.as_secs_f64() / (2.0 * cwnd);
        let bursts = Span::from_secs_f64(bursts_s).min(MAX_BURSTS);
        let is_paced = self.paced_from.is_some_and(|from| least >= from);
        let path = if is_paced { least + bursts } else { (least + bursts) / 2 };
        let is_long = ack.now.saturating_since(self.begun) > path;
        self.is_queue_long = is_long && is_paced;
        is_long
    }

    /// The window that remains of `cwnd` bytes at the end of slow start.
    ///
    /// A train as long as the path's RTT holds as much data as the path. Where each acknowledged
    /// byte grows cwnd, as in the profile `linux`, the train has grown cwnd by its own length. Half
    /// of the sum is at least the train, so the path stays full. With less credit per ACK the
    /// window may be only half of that.
    pub(super) fn leaves(&self, cwnd: f64, mss: f64) -> f64 {
        if self.is_queue_long { libm::floor(cwnd / 2.0 / mss) * mss } else { cwnd }
    }

    fn is_late(&mut self, rtt: Span, least: Span) -> bool {
        let round = self.this_round.map_or(rtt, |round| round.min(rtt));
        self.this_round = Some(round);
        // As in Linux: the delay counts from the ninth sample of a round trip on.
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        // As HYSTART_DELAY_THRESH() of Linux: an eighth of the path's RTT, 4 to 16 ms.
        round > least + (least / 8).max(MIN_DELAY).min(MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests::ack;

    const MSS: f64 = 1000.0;

    /// Slow start over a path of 100 ms with `per_s` segments per second and an unlimited queue.
    /// Returns the window at the end of slow start and the window that remains, both in segments;
    /// `None` if slow start lasts longer than ten round trips.
    fn left_at(paced_from: Option<Span>, per_s: u64) -> Option<(u64, u64)> {
        let (path, gap) = (Span::from_millis(100), Span::from_nanos(1_000_000_000 / per_s));
        let mut trains = AckTrains::new(paced_from);
        let mut window = 10;
        let mut acked = 0;
        // The send times of the segments in flight, and the time when the bottleneck is idle again.
        let mut flight: alloc::collections::VecDeque<Time> = [Time::ZERO; 10].into();
        let mut free = Time::ZERO;
        while let Some(sent) = flight.pop_front() {
            free = free.max(sent) + gap;
            let now = free + path;
            acked += 1000;
            let rtt = now.saturating_since(sent);
            let sent_total = acked + 1000 * flight.len() as u64;
            let sample = Ack { now, rtt: Some(rtt), smoothed_rtt: rtt, ..ack(0, 1000) };
            let sample = Ack { acked_total: acked, sent_total, ..sample };
            if trains.is_over(&sample, window as f64 * MSS, MSS) {
                let left = trains.leaves(window as f64 * MSS, MSS) / MSS;
                return Some((window, left as u64));
            }
            window += 1;
            flight.extend([now; 2]);
            if now > Time::ZERO + Span::from_secs(1) {
                return None;
            }
        }
        None
    }

    #[test]
    fn a_train_of_half_the_path_ends_it_near_what_the_path_holds() {
        // 800 segments; the round of 640 is the first to last 50 ms, 400 of its ACKs.
        let (window, left) = left_at(None, 8000).expect("the path is full");
        assert!((1000..1100).contains(&window), "{window}");
        assert_eq!(left, window);
    }

    #[test]
    fn where_a_window_goes_out_paced_the_train_is_as_long_as_the_path_and_half_is_left() {
        let from = Span::from_millis(2);
        let (window, left) = left_at(Some(from), 8000).expect("the path is full");
        assert!((1600..2200).contains(&window), "{window}");
        assert!((800..1100).contains(&left), "{left}");
        // A longer path than this one is.
        assert_eq!(left_at(Some(Span::from_millis(200)), 8000), left_at(None, 8000));
    }

    #[test]
    fn acks_further_apart_are_no_train_and_a_longer_queue_ends_it() {
        // 40 segments, 2.5 ms apart: only the delay ends slow start, in the first round trip that
        // begins with a queue.
        let (window, left) = left_at(None, 400).expect("the path is full");
        assert!((60..200).contains(&window), "{window}");
        assert_eq!(left, window);
    }

    #[test]
    fn a_path_that_takes_all_lets_slow_start_go_on() {
        assert_eq!(left_at(None, 10_000_000), None);
    }

    /// ACKs a millisecond apart, with an RTT of `rtt_ms`: how many until it is over.
    fn acks_until_over(trains: &mut AckTrains, first: u64, rtt_ms: u64, cwnd: f64) -> Option<u64> {
        (0..40).find(|n| {
            let rtt = Span::from_millis(rtt_ms);
            let sent =
                Ack { rtt: Some(rtt), sent_total: (first + 40) * 1000, ..ack(first + n, 1000) };
            trains.is_over(&Ack { acked_total: (first + n + 1) * 1000, ..sent }, cwnd, MSS)
        })
    }

    #[test]
    fn more_than_an_eighth_over_the_paths_rtt_ends_it_with_the_ninth_sample() {
        let mut trains = AckTrains::new(None);
        assert_eq!(acks_until_over(&mut trains, 0, 100, 20_000.0), None);
        assert_eq!(acks_until_over(&mut trains, 40, 112, 20_000.0), None);
        assert_eq!(acks_until_over(&mut trains, 80, 113, 20_000.0), Some(8));
    }

    #[test]
    fn windows_of_fewer_than_sixteen_segments_do_not_end_it() {
        let mut trains = AckTrains::new(None);
        assert_eq!(acks_until_over(&mut trains, 0, 100, 15_999.0), None);
        assert_eq!(acks_until_over(&mut trains, 40, 300, 15_999.0), None);
        assert!(acks_until_over(&mut trains, 80, 300, 16_000.0).is_some());
    }

    /// The length of the train that ends slow start on a path of 10 ms, with an ACK every 10 µs.
    fn train_us(cwnd: f64) -> Option<u64> {
        let mut trains = AckTrains::new(None);
        let rtt = Span::from_millis(10);
        (1..1000).map(|n| n * 10).find(|us| {
            let now = Time::ZERO + Span::from_micros(*us);
            let sent = Ack { now, rtt: Some(rtt), smoothed_rtt: rtt, ..ack(0, 1000) };
            trains.is_over(&Ack { sent_total: 1 << 30, ..sent }, cwnd, MSS)
        })
    }

    #[test]
    fn half_the_path_is_longer_by_half_the_time_of_four_bursts_and_at_most_half_a_millisecond() {
        // At two windows of 13.1 MB in 10 ms, 256 KiB take 100 µs.
        assert_eq!(train_us(13_107_200.0), Some(5060));
        assert_eq!(train_us(2_621_440.0), Some(5260));
        assert_eq!(train_us(262_144.0), Some(5510));
    }

    #[test]
    fn a_round_is_late_beyond_an_eighth_of_the_path() {
        let (path, nanosecond) = (Span::from_millis(64), Span::from_nanos(1));
        let late = |rtt| {
            let mut trains = AckTrains::new(None);
            trains.samples = SAMPLES;
            trains.is_late(rtt, path)
        };
        assert!(!late(path + path / 8));
        assert!(late(path + path / 8 + nanosecond));
    }

    #[test]
    fn a_train_is_long_beyond_half_the_path() {
        // Beside such a window its bursts take no time.
        let (path, huge, nanosecond) = (Span::from_millis(64), 1e18, Span::from_nanos(1));
        let long = |lasts: Span| {
            let mut trains = AckTrains::new(None);
            let now = Time::ZERO + lasts;
            trains.train_end = Time::ZERO + lasts.saturating_sub(SPACING);
            let sample = Ack { now, smoothed_rtt: path, ..ack(0, 1000) };
            trains.is_train_long(&sample, path, huge)
        };
        assert!(!long(path / 2));
        assert!(long(path / 2 + nanosecond));
    }
}
