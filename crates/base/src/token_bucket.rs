use crate::{Span, Time};

/// How fast the tokens of a bucket accrue, and how many it holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The tokens that accrue in each period. With zero, an empty bucket stays empty.
    pub tokens: u64,
    /// The period.
    pub period: Span,
    /// The most tokens that can be taken at once.
    pub burst: u64,
}

impl RateLimit {
    /// `tokens` in each second, `burst` at once.
    pub const fn per_second(tokens: u64, burst: u64) -> RateLimit {
        RateLimit { tokens, period: Span::from_secs(1), burst }
    }

    /// A time in units of the algorithm: `1 / tokens` nanoseconds, in which no rate is rounded.
    fn scaled(&self, time: Time) -> u128 {
        u128::from(time.as_nanos()) * u128::from(self.tokens)
    }

    /// The time in which `tokens` accrue, in the same units.
    fn accrual(&self, tokens: u64) -> u128 {
        u128::from(tokens) * u128::from(self.period.as_nanos())
    }
}

/// The state of a token bucket, full at first, by the generic cell rate algorithm (ITU-T I.371,
/// annex A, virtual scheduling): one number, the time at which the bucket would be full again.
///
/// The caller passes the same [`RateLimit`] to each call, so that many buckets can share one. In any
/// time `t`, at most `burst` and the tokens of `t` are taken. Nothing is rounded.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    /// In units of `1 / tokens` nanoseconds: the theoretical arrival time of I.371.
    full_at: u128,
}

impl TokenBucket {
    /// Takes tokens. False, and nothing is taken, if too few are left.
    pub fn take(&mut self, limit: &RateLimit, now: Time, tokens: u64) -> bool {
        let taken = self.full_after(limit, now, tokens);
        // The limit of the algorithm: the time in which an empty bucket fills.
        let conforms = taken <= limit.scaled(now).saturating_add(limit.accrual(limit.burst));
        if conforms {
            self.full_at = taken;
        }
        conforms
    }

    /// Takes tokens as soon as there are enough, from `now` on, and returns that time. More tokens
    /// than the bucket holds are taken when it is full; the rest then accrues before any other token.
    pub fn take_when_ready(&mut self, limit: &RateLimit, now: Time, tokens: u64) -> Time {
        let at = now.max(self.ready_at(limit, tokens));
        self.full_at = self.full_after(limit, at, tokens);
        at
    }

    /// The first time at which the bucket has `tokens` or is full; [`Time::MAX`] if there is none.
    pub fn ready_at(&self, limit: &RateLimit, tokens: u64) -> Time {
        let spare = limit.burst.saturating_sub(tokens);
        let ready = self.full_at.saturating_sub(limit.accrual(spare));
        if limit.tokens == 0 {
            return if ready == 0 { Time::ZERO } else { Time::MAX };
        }
        let ns = ready.div_ceil(u128::from(limit.tokens));
        Time::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn full_after(&self, limit: &RateLimit, now: Time, tokens: u64) -> u128 {
        self.full_at.max(limit.scaled(now)).saturating_add(limit.accrual(tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    #[test]
    fn a_bucket_refills_at_its_rate_up_to_its_burst() {
        let limit = RateLimit::per_second(1000, 100);
        let mut bucket = TokenBucket::default();
        let mut take = |at, tokens| bucket.take(&limit, ms(at), tokens);
        assert!(take(0, 100) && !take(0, 1));
        assert!(!take(9, 10) && take(10, 10), "a refused request costs nothing");
        assert!(!take(5000, 101) && take(5000, 100));
    }

    #[test]
    fn a_bucket_without_a_rate_has_its_burst_and_no_more() {
        let limit = RateLimit::per_second(0, 2);
        let mut bucket = TokenBucket::default();
        assert!(bucket.take(&limit, ms(1), 2) && !bucket.take(&limit, ms(1000), 1));
        assert_eq!(
            (bucket.ready_at(&limit, 0), bucket.ready_at(&limit, 1)),
            (Time::ZERO, Time::MAX)
        );
    }

    #[test]
    fn more_than_the_bucket_holds_is_taken_from_a_full_one() {
        let limit = RateLimit::per_second(1_000_000, 3_000);
        let mut bucket = TokenBucket::default();
        let mut take = |at, tokens| bucket.take_when_ready(&limit, ms(at), tokens);
        assert_eq!([take(0, 3_000), take(0, 1_000), take(1, 1_000)], [ms(0), ms(1), ms(2)]);
        assert_eq!(take(10, 5_000), ms(10), "a full bucket");
        assert_eq!(take(10, 1_000), ms(13), "first the debt of 2000 tokens");
    }

    proptest! {
        #[test]
        fn never_more_than_burst_and_rate_allow(
            rate in 1_u32..10_000_000,
            burst in 1_u32..1_000_000,
            steps in prop::collection::vec((0_u64..2_000_000_000, 0_u32..100_000), 1..100),
        ) {
            let limit = RateLimit::per_second(rate.into(), burst.into());
            let (mut bucket, mut now, mut taken) = (TokenBucket::default(), Time::ZERO, 0_u64);
            for (ns, tokens) in steps {
                now += Span::from_nanos(ns);
                if bucket.take(&limit, now, tokens.into()) {
                    taken += u64::from(tokens);
                }
                let allowed = u128::from(burst) + u128::from(now.as_nanos()) * u128::from(rate)
                    / 1_000_000_000;
                prop_assert!(u128::from(taken) <= allowed);
            }
        }

        #[test]
        fn tokens_are_ready_at_the_first_time_at_which_they_can_be_taken(
            rate in 1_u32..10_000_000,
            burst in 1_u32..1_000_000,
            steps in prop::collection::vec((0_u64..2_000_000_000, 0_u32..1_000_000), 1..100),
        ) {
            let limit = RateLimit::per_second(rate.into(), burst.into());
            let (mut bucket, mut now) = (TokenBucket::default(), Time::ZERO);
            for (ns, tokens) in steps {
                now += Span::from_nanos(ns);
                let tokens = u64::from(tokens.min(burst));
                let ready = bucket.ready_at(&limit, tokens);
                prop_assert_eq!({ bucket }.take(&limit, now, tokens), ready <= now);
                now = now.max(ready);
                prop_assert_eq!(bucket.take_when_ready(&limit, now, tokens), now);
            }
        }
    }
}
