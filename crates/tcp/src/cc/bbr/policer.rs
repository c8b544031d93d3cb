//! Detection of a token bucket on the path ("long-term sampling"): two intervals in a row with many losses and the
//! same rate. The sender then keeps to that rate for a while.

use windlass_base::Time;

/// An interval lasts this many rounds at least, and four times as many at most.
const INTERVAL_ROUNDS_MIN: u32 = 4;
/// An interval has many losses if this share is lost.
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// Two rates are the same if they differ by this share of the older at most, or by so many bytes per second.
const SAME_SHARE: f64 = 1.0 / 8.0;
const SAME_BYTES_PER_S: f64 = 500.0;
/// How many rounds the rate is kept to.
const USE_ROUNDS: u32 = 48;

/// The totals of a connection at one moment.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) at: Time,
    /// Bytes delivered.
    pub(super) delivered: u64,
    /// Bytes lost.
    pub(super) lost: u64,
}

/// The state of the detection.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// The rate of the last interval with many losses, in bytes per second; 0 without one.
    rate: f64,
    in_use: bool,
    begin: Totals,
    rounds: u32,
    is_sampling: bool,
}

impl Policer {
    /// The rate to keep to.
    pub(super) fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// Forgets all, and begins an interval.
    pub(super) fn reset(&mut self, now: Totals) {
        *self = Policer { begin: now, ..Policer::default() };
    }

    fn reset_interval(&mut self, now: Totals) {
        (self.begin, self.rounds) = (now, 0);
    }

    /// Takes an ACK, which lost something or not. `is_cruising`: the rounds of use count. True if the rate is in
    /// use no more.
    pub(super) fn update(
        &mut self,
        now: Totals,
        has_losses: bool,
        is_round_start: bool,
        is_app_limited: bool,
        is_cruising: bool,
    ) -> bool {
        if self.in_use {
            if is_cruising && is_round_start {
                self.rounds += 1;
                if self.rounds >= USE_ROUNDS {
                    self.reset(now);
                    return true;
                }
            }
            return false;
        }
        // The first loss ends a bucket's burst: the interval begins there.
        if !self.is_sampling {
            if has_losses {
                self.reset_interval(now);
                self.is_sampling = true;
            }
            return false;
        }
        if is_app_limited {
            self.reset(now);
            return false;
        }
        self.rounds += u32::from(is_round_start);
        if self.rounds < INTERVAL_ROUNDS_MIN {
            return false;
        }
        if self.rounds > 4 * INTERVAL_ROUNDS_MIN {
            self.reset(now);
            return false;
        }
        // The interval ends with a loss, as it began with one.
        if has_losses {
            self.end_interval(now);
        }
        false
    }

    fn end_interval(&mut self, now: Totals) {
        let lost = (now.lost - self.begin.lost) as f64;
        let delivered = (now.delivered - self.begin.delivered) as f64;
        if delivered == 0.0 || lost / delivered < LOSS_SHARE {
            return;
        }
        let seconds = now.at.saturating_since(self.begin.at).as_secs_f64();
        if seconds < 0.001 {
            return;
        }
        let rate = delivered / seconds;
        let difference = (rate - self.rate).abs();
        let is_same = difference <= SAME_SHARE * self.rate || difference <= SAME_BYTES_PER_S;
        if self.rate > 0.0 && is_same {
            self.rate = f64::midpoint(self.rate, rate);
            (self.in_use, self.rounds) = (true, 0);
            return;
        }
        self.rate = rate;
        self.reset_interval(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    /// Rounds of 100 ms with so many bytes delivered and lost in each; whether the rate is in use after each.
    fn rounds(policer: &mut Policer, totals: &mut Totals, count: u32, delivered: u64, lost: u64) {
        for _ in 0..count {
            totals.at += Span::from_millis(100);
            totals.delivered += delivered;
            totals.lost += lost;
            policer.update(*totals, lost > 0, true, false, true);
        }
    }

    #[test]
    fn two_intervals_with_equal_rates_and_many_losses_are_a_policer() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        rounds(&mut policer, &mut totals, 5, 100_000, 40_000);
        assert_eq!(policer.rate(), None);
        rounds(&mut policer, &mut totals, 4, 100_000, 40_000);
        let rate = policer.rate().expect("two intervals of four rounds");
        assert!((rate - 1_000_000.0).abs() < 1.0, "{rate}");
        rounds(&mut policer, &mut totals, 47, 100_000, 0);
        assert!(policer.rate().is_some());
        rounds(&mut policer, &mut totals, 1, 100_000, 0);
        assert_eq!(policer.rate(), None, "after 48 rounds it probes again");
    }

    #[test]
    fn few_losses_or_other_rates_are_none() {
        for (second, lost) in [(100_000, 10_000), (200_000, 80_000)] {
            let (mut policer, mut totals) = (Policer::default(), Totals::default());
            rounds(&mut policer, &mut totals, 5, 100_000, lost);
            rounds(&mut policer, &mut totals, 4, second, lost);
            assert_eq!(policer.rate(), None, "{second} {lost}");
        }
    }
}
