//! An end of CUBIC's slow start; `exit` chooses between this and `ack_trains`.

use super::Ack;
use windlass_base::Span;

/// HyStart++ (RFC 9406 §4): the first slow start ends when the RTT grows, before packets are lost.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStartPlusPlus {
    /// The minimum RTT of the last round trip (lastRoundMinRTT).
    last_round: Option<Span>,
    /// The minimum RTT of the current round trip so far (currentRoundMinRTT).
    this_round: Option<Span>,
    /// RTT samples in the current round trip (rttSampleCount).
    samples: u32,
    /// The round trip ends when the ACK number passes this stream position (windowEnd).
    round_end: u64,
    conservative: Option<Conservative>,
}

/// Conservative slow start: slower growth until the next samples show whether a queue raised the
/// RTT or only a few packets were late.
#[derive(Copy, Clone, Debug)]
struct Conservative {
    /// The minimum RTT of the round trip that started this phase (cssBaselineMinRtt).
    baseline: Span,
    rounds: u32,
}

/// How fast slow start continues.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// An ACK grows cwnd by its whole credit.
    Full,
    /// An ACK grows cwnd by a quarter of its credit (CSS_GROWTH_DIVISOR).
    Quarter,
    /// Slow start ends; congestion avoidance follows.
    Over,
}

/// RFC 9406 §4.3.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_ROUNDS: u32 = 5;

impl HyStartPlusPlus {
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Pace {
        // RFC 9406 §4.2: a round ends when the data sent in the one before is acknowledged.
        if ack.acked_total >= self.round_end {
            self.begin_round(ack.sent_total);
        }
        if let Some(rtt) = ack.rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        // RFC 9406 §4.2: fewer samples than N_RTT_SAMPLE decide nothing.
        if let Some(current) = self.this_round.filter(|_| self.samples >= N_RTT_SAMPLE) {
            self.judge(current);
        }
        // RFC 9406 §4.2: CSS that outlasts CSS_ROUNDS ends slow start.
        match self.conservative {
            None => Pace::Full,
            Some(css) if css.rounds > CSS_ROUNDS => Pace::Over,
            Some(_) => Pace::Quarter,
        }
    }

    fn begin_round(&mut self, sent_total: u64) {
        self.last_round = self.this_round.take();
        self.samples = 0;
        self.round_end = sent_total;
        if let Some(css) = &mut self.conservative {
            css.rounds += 1;
        }
    }

    fn judge(&mut self, current: Span) {
        match (self.conservative, self.last_round) {
            // The RTT is below that which began CSS: slow start goes on at full pace.
            (Some(css), _) if current < css.baseline => self.conservative = None,
            (None, Some(last)) => {
                // RFC 9406 §4.2: RttThresh, an eighth of the last round's RTT within bounds.
                let threshold = (last / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
                if current >= last + threshold {
                    self.conservative = Some(Conservative { baseline: current, rounds: 1 });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::tests::ack;

    /// A round of ten ACKs with an RTT of `rtt_ms`; how slow start goes on after it.
    fn round(hystart: &mut HyStartPlusPlus, number: u64, rtt_ms: u64) -> Pace {
        let mut pace = Pace::Full;
        for segment in 1..=10 {
            pace = hystart.on_ack(&Ack {
                rtt: Some(Span::from_millis(rtt_ms)),
                acked_total: number * 10_000 + segment * 1000,
                sent_total: number * 10_000 + segment * 1000 + 10_000,
                ..ack(number * rtt_ms, 1000)
            });
        }
        pace
    }

    #[test]
    fn an_rtt_that_stays_lets_slow_start_go_on() {
        let mut hystart = HyStartPlusPlus::default();
        for number in 0..20 {
            assert_eq!(round(&mut hystart, number, 100 + number % 2 * 3), Pace::Full);
        }
    }

    #[test]
    fn an_eighth_more_in_a_round_slows_it_and_five_rounds_later_it_is_over() {
        let mut hystart = HyStartPlusPlus::default();
        assert_eq!(round(&mut hystart, 0, 100), Pace::Full);
        let paces: [Pace; 6] = core::array::from_fn(|n| round(&mut hystart, n as u64 + 1, 113));
        assert_eq!(paces[..5], [Pace::Quarter; 5]);
        assert_eq!(paces[5], Pace::Over);
    }

    #[test]
    fn a_few_late_packets_do_not_end_it() {
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, 0, 100);
        assert_eq!(round(&mut hystart, 1, 120), Pace::Quarter);
        assert_eq!(round(&mut hystart, 2, 100), Pace::Full);
    }

    #[test]
    fn on_short_paths_four_milliseconds_are_the_least_that_counts() {
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, 0, 4);
        assert_eq!(round(&mut hystart, 1, 7), Pace::Full);
        assert_eq!(round(&mut hystart, 2, 12), Pace::Quarter);
    }
}
