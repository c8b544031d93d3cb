//! The limit of new connections a second.

use windlass_base::{Span, Time};

/// A token bucket: in any time t at most `burst` + rate * t tokens are taken.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    interval: Span,
    /// The time that an empty bucket takes to fill up to all but one token.
    slack: Span,
    /// When it is full again.
    full_at: Time,
}

/// The size of a burst, as the time in which its tokens accrue.
const BURST: Span = Span::from_millis(20);

impl TokenBucket {
    /// A full bucket that gets `rate` tokens a second and holds what comes in 20 ms, at least one.
    pub fn new(rate: f64) -> TokenBucket {
        let interval_ns = (1e9 / rate.max(1e-6)).ceil() as u64;
        let interval = Span::from_nanos(interval_ns.max(1));
        let burst = (BURST.as_nanos() / interval.as_nanos()).max(1);
        TokenBucket { interval, slack: interval * (burst - 1), full_at: Time::ZERO }
    }

    /// How many tokens it holds.
    pub fn burst(&self) -> u64 {
        self.slack.as_nanos() / self.interval.as_nanos() + 1
    }

    /// Takes a token if there is one.
    pub fn take(&mut self, now: Time) -> bool {
        if self.next_at() > now {
            return false;
        }
        self.full_at = self.full_at.max(now) + self.interval;
        true
    }

    /// The time at which the next token is available.
    pub fn next_at(&self) -> Time {
        Time::from_nanos(self.full_at.as_nanos().saturating_sub(self.slack.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_stretch_of_time_has_more_than_the_burst_and_its_share_whoever_asks_when(
            rate in 0.1f64..20_000.0,
            gaps in prop::collection::vec((0u64..200_000_000, 1usize..30), 1..30),
        ) {
            let mut bucket = TokenBucket::new(rate);
            let burst = bucket.burst() as f64;
            let mut now = Time::ZERO;
            let mut taken = Vec::new();
            for (gap_ns, asks) in gaps {
                now += Span::from_nanos(gap_ns);
                taken.extend((0..asks).filter(|_| bucket.take(now)).map(|_| now));
            }
            for (first, from) in taken.iter().enumerate() {
                for (last, to) in taken.iter().enumerate().skip(first) {
                    let count = (last - first + 1) as f64;
                    let t = to.saturating_since(*from).as_secs_f64();
                    prop_assert!(count <= burst + rate * t + 1e-6, "{} in {} s", count, t);
                }
            }
        }

        #[test]
        fn who_asks_whenever_there_is_a_token_gets_the_whole_rate(rate in 0.1f64..20_000.0) {
            let mut bucket = TokenBucket::new(rate);
            let mut now = Time::ZERO;
            let count = 500;
            for _ in 0..count {
                now = now.max(bucket.next_at());
                prop_assert!(bucket.take(now));
            }
            let least = f64::from(count) / rate;
            let took = now.saturating_since(Time::ZERO).as_secs_f64();
            prop_assert!(took <= least * 1.001 + 1e-3, "{} s, at least {}", took, least);
        }
    }

    #[test]
    fn a_polite_rate_has_no_bursts() {
        assert_eq!(TokenBucket::new(50.0).burst(), 1);
        assert_eq!(TokenBucket::new(500.0).burst(), 10);
    }
}
