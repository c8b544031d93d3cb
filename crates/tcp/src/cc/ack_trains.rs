use super::Ack;
use windlass_base::{Span, Time};

/// HyStart in its first form (S. Ha, I. Rhee, *Taming the elephants: new TCP slow start*, 2011), with
/// what Linux made of it: slow start is over when the ACKs of a round come in a train as long as the
/// path, or when a round's least RTT is above the path's.
#[derive(Clone, Debug)]
pub(super) struct AckTrains {
    /// The least RTT of a path over which a window goes out paced, if any does.
    paced_from: Option<Span>,
    /// The path's RTT: the least so far.
    least: Option<Span>,
    /// The least of this round.
    this_round: Option<Span>,
    samples: u32,
    /// Samples in a row that tell of a queue.
    queued: u32,
    /// When the round began, with which SRTT, and the last ACK that belongs to its train.
    begun: Time,
    srtt: Span,
    train_end: Time,
    /// The round is over once more than this is acknowledged.
    round_end: u64,
}

/// Smaller windows tell nothing.
const LEAST_SEGMENTS: f64 = 16.0;
/// ACKs further apart are of no train.
const SPACING: Span = Span::from_millis(2);
/// A burst is late by what goes out before it: four of the largest there are, at slow start's rate.
const BURSTS_BYTES: f64 = 4.0 * 65_536.0;
const MAX_BURSTS: Span = Span::from_millis(1);
const SAMPLES: u32 = 8;
/// A queue of a paced window is a sixteenth of the path's RTT.
const QUEUE_DIVISOR: u64 = 16;
const MIN_QUEUE: Span = Span::from_millis(1);
const MIN_DELAY: Span = Span::from_millis(4);
const MAX_DELAY: Span = Span::from_millis(16);

impl AckTrains {
    pub(super) fn new(paced_from: Option<Span>) -> AckTrains {
        AckTrains {
            paced_from,
            least: None,
            this_round: None,
            samples: 0,
            queued: 0,
            begun: Time::ZERO,
            srtt: Span::ZERO,
            train_end: Time::ZERO,
            round_end: 0,
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
            && (self.is_train_long(ack, rtt, least, cwnd) || self.is_late(rtt, least))
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.begun = ack.now;
        self.srtt = ack.smoothed_rtt;
        self.train_end = ack.now;
        self.round_end = ack.sent_total;
        self.this_round = None;
        self.samples = 0;
    }

    /// A window that went out at once fills half the path in half its RTT. Pacing alone spreads a round
    /// over two thirds of the RTT: it sends twice the window's ACKs while the rate goes from two to four
    /// of those windows in a round trip. A twelfth of the path more than that tells that it is full, if
    /// there is a queue as well, for a pacer whose timer is late has long trains on an empty path. Linux
    /// waits for a whole RTT there, by when as much again is in the queue.
    fn is_train_long(&mut self, ack: &Ack, rtt: Span, least: Span, cwnd: f64) -> bool {
        let queue = (least / QUEUE_DIVISOR).max(MIN_QUEUE);
        self.queued = if rtt > least + queue { self.queued + 1 } else { 0 };
        if ack.now.saturating_since(self.train_end) > SPACING {
            return false;
        }
        self.train_end = ack.now;
        let bursts_s = BURSTS_BYTES * ack.smoothed_rtt.as_secs_f64() / (2.0 * cwnd);
        let bursts = Span::from_secs_f64(bursts_s).min(MAX_BURSTS);
        let train = ack.now.saturating_since(self.begun);
        if self.paced_from.is_some_and(|from| least >= from) {
            let paced = self.srtt * 2 / 3 + least / 12 + bursts;
            train > paced && self.queued >= SAMPLES
        } else {
            train > (least + bursts) / 2
        }
    }

    fn is_late(&mut self, rtt: Span, least: Span) -> bool {
        let round = self.this_round.map_or(rtt, |round| round.min(rtt));
        self.this_round = Some(round);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round > least + (least / 8).max(MIN_DELAY).min(MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests::ack;

    const MSS: f64 = 1000.0;

    /// Slow start over a path of 100 ms with `per_s` segments a second and a queue without an end; the
    /// window in segments when it is over, if that is within ten round trips. A paced one goes out at
    /// `rate` times the window in a round trip.
    fn left_at(rate: Option<u64>, per_s: u64) -> Option<u64> {
        let (path, gap) = (Span::from_millis(100), Span::from_nanos(1_000_000_000 / per_s));
        let mut trains = AckTrains::new(rate.map(|_| Span::from_millis(2)));
        let mut window = 10;
        let mut acked = 0;
        // When each segment that is under way left, and when the pacer and the bottleneck are free again.
        let mut flight: alloc::collections::VecDeque<Time> = [Time::ZERO; 10].into();
        let (mut pacer, mut free) = (Time::ZERO, Time::ZERO);
        while let Some(sent) = flight.pop_front() {
            free = free.max(sent) + gap;
            let now = free + path;
            acked += 1000;
            let rtt = now.saturating_since(sent);
            let sent_total = acked + 1000 * flight.len() as u64;
            let sample = Ack { now, rtt: Some(rtt), smoothed_rtt: rtt, ..ack(0, 1000) };
            let told = Ack { acked_total: acked, sent_total, ..sample };
            if trains.is_over(&told, window as f64 * MSS, MSS) {
                return Some(window);
            }
            window += 1;
            for _ in 0..2 {
                pacer = pacer.max(now);
                flight.push_back(pacer);
                if let Some(rate) = rate {
                    pacer += path / (rate * window);
                }
            }
            if now > Time::ZERO + Span::from_secs(1) {
                return None;
            }
        }
        None
    }

    #[test]
    fn a_train_of_half_the_path_ends_it_near_what_the_path_holds() {
        // 800 segments; the round of 640 is the first to last 50 ms, 400 of its ACKs.
        let window = left_at(None, 8000).expect("the path is full");
        assert!((1000..1100).contains(&window), "{window}");
    }

    #[test]
    fn a_paced_window_ends_it_as_near_though_its_train_is_longer() {
        // 640, of which 600 come within three quarters of the RTT.
        let window = left_at(Some(2), 8000).expect("the path is full");
        assert!((1200..1300).contains(&window), "{window}");
        // Twice and half the path, whose rounds are no fuller: 1,280 and 320.
        assert!(left_at(Some(2), 16_000).is_some_and(|window| window < 2600));
        assert!(left_at(Some(2), 4000).is_some_and(|window| window < 650));
    }

    #[test]
    fn acks_further_apart_are_no_train_and_a_longer_queue_ends_it() {
        // 40 segments, 2.5 ms apart. Delay alone tells, once a round begins with a queue.
        let window = left_at(None, 400).expect("the path is full");
        assert!((60..200).contains(&window), "{window}");
    }

    #[test]
    fn a_path_that_takes_all_lets_slow_start_go_on() {
        assert_eq!(left_at(None, 10_000_000), None);
        assert_eq!(left_at(Some(2), 10_000_000), None);
        // Nor does a pacer whose timer is so late that it has half of its rate.
        assert_eq!(left_at(Some(1), 10_000_000), None);
    }

    /// ACKs a millisecond apart, with an RTT of `rtt_ms`: how many until it is over.
    fn acks_until_over(trains: &mut AckTrains, first: u64, rtt_ms: u64, cwnd: f64) -> Option<u64> {
        (0..40).find(|n| {
            let rtt = Span::from_millis(rtt_ms);
            let told =
                Ack { rtt: Some(rtt), sent_total: (first + 40) * 1000, ..ack(first + n, 1000) };
            trains.is_over(&Ack { acked_total: (first + n + 1) * 1000, ..told }, cwnd, MSS)
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
    fn fewer_than_sixteen_segments_tell_nothing() {
        let mut trains = AckTrains::new(None);
        assert_eq!(acks_until_over(&mut trains, 0, 100, 15_999.0), None);
        assert_eq!(acks_until_over(&mut trains, 40, 300, 15_999.0), None);
        assert!(acks_until_over(&mut trains, 80, 300, 16_000.0).is_some());
    }
}
