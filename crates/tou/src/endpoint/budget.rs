use windlass_base::Time;

/// A token bucket for replies that belong to no connection. It holds the replies of one second.
#[derive(Debug)]
pub(super) struct Budget {
    per_s: u32,
    /// Replies that may go out now.
    tokens: f64,
    filled: Time,
}

impl Budget {
    pub(super) fn new(per_s: u32) -> Budget {
        Budget { per_s, tokens: f64::from(per_s), filled: Time::ZERO }
    }

    /// Takes a token. False if there is none.
    pub(super) fn take(&mut self, now: Time) -> bool {
        let (per_s, elapsed) = (f64::from(self.per_s), now.saturating_since(self.filled));
        self.tokens = (self.tokens + elapsed.as_secs_f64() * per_s).min(per_s);
        self.filled = now;
        let there = self.tokens >= 1.0;
        self.tokens -= if there { 1.0 } else { 0.0 };
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    #[test]
    fn no_more_than_the_rate_goes_out_after_a_full_bucket() {
        let mut budget = Budget::new(100);
        let answered = (0..10_000u64)
            .filter(|step| budget.take(Time::ZERO + Span::from_micros(100) * *step))
            .count();
        // A full bucket at the start, and one second's refill.
        assert!((199..=200).contains(&answered), "{answered}");
    }
}
