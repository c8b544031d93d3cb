use windlass_base::Time;

/// A token bucket for answers to nobody in particular: a second's worth may go out at once.
#[derive(Debug)]
pub(super) struct Budget {
    per_s: u32,
    /// In answers.
    tokens: f64,
    filled: Time,
}

impl Budget {
    pub(super) fn new(per_s: u32) -> Budget {
        Budget { per_s, tokens: f64::from(per_s), filled: Time::ZERO }
    }

    /// Takes one, if there is one.
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
    fn a_second_may_have_its_number_and_no_more() {
        let mut budget = Budget::new(100);
        let answered = (0..10_000u64)
            .filter(|step| budget.take(Time::ZERO + Span::from_micros(100) * *step))
            .count();
        // The bucket was full, and ran for a second.
        assert!((199..=200).contains(&answered), "{answered}");
    }
}
