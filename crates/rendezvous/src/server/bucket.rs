//! A token bucket.

use windlass_base::Time;

/// Tokens are kept in billionths: a rate of one token a second adds one each nanosecond.
const TOKEN: u64 = 1_000_000_000;

/// The rate and size of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketSize {
    pub(super) tokens_per_s: u32,
    pub(super) burst: u32,
}

/// The tokens left at the time when some were last taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    billionths: u64,
    filled: Time,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn full(size: BucketSize) -> Bucket {
        Bucket { billionths: u64::from(size.burst) * TOKEN, filled: Time::ZERO }
    }

    /// Takes tokens. False, and nothing is taken, if too few are left.
    pub(super) fn take(&mut self, size: BucketSize, now: Time, tokens: u32) -> bool {
        let elapsed = now.saturating_since(self.filled).as_nanos();
        let gained = elapsed.saturating_mul(size.tokens_per_s.into());
        let most = u64::from(size.burst) * TOKEN;
        self.billionths = self.billionths.saturating_add(gained).min(most);
        self.filled = now;
        let left = self.billionths.checked_sub(u64::from(tokens) * TOKEN);
        self.billionths = left.unwrap_or(self.billionths);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use windlass_base::Span;

    #[test]
    fn a_bucket_refills_at_its_rate_up_to_its_burst() {
        let size = BucketSize { tokens_per_s: 1000, burst: 100 };
        let mut bucket = Bucket::full(size);
        let mut take = |ms, tokens| bucket.take(size, Time::ZERO + Span::from_millis(ms), tokens);
        assert!(take(0, 100) && !take(0, 1));
        assert!(!take(9, 10) && take(10, 10), "a refused request costs nothing");
        assert!(!take(5000, 101) && take(5000, 100));
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate_allow(
            rate in 1_u32..10_000_000,
            burst in 1_u32..1_000_000,
            steps in prop::collection::vec((0_u64..2_000_000_000, 0_u32..100_000), 1..100),
        ) {
            let size = BucketSize { tokens_per_s: rate, burst };
            let (mut bucket, mut now, mut taken) = (Bucket::full(size), Time::ZERO, 0_u64);
            for (ns, tokens) in steps {
                now += Span::from_nanos(ns);
                if bucket.take(size, now, tokens) {
                    taken += u64::from(tokens);
                }
                let allowed = u128::from(burst) + u128::from(now.as_nanos()) * u128::from(rate)
                    / 1_000_000_000;
                prop_assert!(u128::from(taken) <= allowed);
            }
        }
    }
}
