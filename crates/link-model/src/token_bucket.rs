use crate::ConfigError;
use windlass_base::{BitRate, Span, Time};

const BIT_NS_PER_BYTE: i128 = 8_000_000_000;

/// A rate, and the burst that it allows after a pause.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// How fast tokens come.
    pub rate: BitRate,
    /// How many tokens the bucket holds, in bytes. It is full at first.
    pub burst_bytes: u64,
}

impl TokenBucket {
    /// Checks that the bucket holds something.
    ///
    /// # Errors
    ///
    /// [`ConfigError::ZeroBurst`] if it does not.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.burst_bytes == 0 { Err(ConfigError::ZeroBurst) } else { Ok(()) }
    }
}

/// The tokens of a bucket at a point in time.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bucket {
    rate: i128,
    full: i128,
    /// Bits times nanoseconds per second, so that nothing is ever rounded. Below zero after a packet
    /// larger than the bucket.
    tokens: i128,
    counted_at: Time,
}

impl Bucket {
    pub(crate) fn new(config: &TokenBucket) -> Bucket {
        let full = i128::from(config.burst_bytes) * BIT_NS_PER_BYTE;
        let rate = i128::from(config.rate.bits_per_sec());
        Bucket { rate, full, tokens: full, counted_at: Time::ZERO }
    }

    fn fill(&mut self, now: Time) {
        // RFC 2697 section 3: Tc grows by CIR bytes a second, up to CBS.
        let elapsed = i128::from(now.saturating_since(self.counted_at).as_nanos());
        self.tokens = self.full.min(self.tokens + elapsed * self.rate);
        self.counted_at = self.counted_at.max(now);
    }

    /// Takes the tokens of a packet; false, and takes none, if there are fewer.
    fn take(&mut self, now: Time, bytes: u32) -> bool {
        self.fill(now);
        let need = i128::from(bytes) * BIT_NS_PER_BYTE;
        // RFC 2697 section 3: green if Tc(t) - B >= 0, and Tc falls by B; otherwise Tc stays.
        let enough = need <= self.tokens;
        self.tokens -= if enough { need } else { 0 };
        enough
    }

    /// Takes the tokens of a packet as soon as there are enough, from `now` on, and returns that time.
    /// A packet larger than the bucket goes when the bucket is full.
    pub(crate) fn take_when_enough(&mut self, now: Time, bytes: u32) -> Time {
        self.fill(now);
        let need = i128::from(bytes) * BIT_NS_PER_BYTE;
        let short = (need.min(self.full) - self.tokens).max(0);
        // Tokens that are missing, over the rate, rounded up.
        let wait = u64::try_from((short + self.rate - 1) / self.rate).unwrap_or(u64::MAX);
        let at = now + Span::from_nanos(wait);
        self.fill(at);
        self.tokens -= need;
        at
    }
}

/// Drops the packets that exceed a token bucket (a single-rate policer without marking; RFC 2697 with
/// an excess burst of zero).
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: Bucket,
}

impl Policer {
    /// A policer with a full bucket.
    pub fn new(config: &TokenBucket) -> Policer {
        Policer { bucket: Bucket::new(config) }
    }

    /// True if the packet conforms and may go on; false if it is dropped.
    pub fn admits(&mut self, now: Time, bytes: u32) -> bool {
        self.bucket.take(now, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKET: TokenBucket = TokenBucket {
        rate: match BitRate::from_bits_per_sec(8_000_000) {
            Some(rate) => rate,
            None => panic!("not zero"),
        },
        burst_bytes: 3_000,
    };

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    #[test]
    fn a_policer_admits_the_burst_and_then_the_rate() {
        let mut policer = Policer::new(&BUCKET);
        let admitted =
            |policer: &mut Policer, at| (0..5).filter(|_| policer.admits(at, 1000)).count();
        assert_eq!(admitted(&mut policer, ms(0)), 3);
        assert_eq!(admitted(&mut policer, ms(1)), 1, "1000 bytes come in a millisecond");
        assert_eq!(admitted(&mut policer, ms(100)), 3, "no more than the bucket holds");
    }

    #[test]
    fn a_shaper_lets_each_packet_go_when_it_has_its_tokens() {
        let mut bucket = Bucket::new(&BUCKET);
        let mut at = Time::ZERO;
        let times: Vec<Time> = (0..5)
            .map(|_| {
                at = bucket.take_when_enough(at, 1000);
                at
            })
            .collect();
        assert_eq!(times, [ms(0), ms(0), ms(0), ms(1), ms(2)]);
        assert_eq!(bucket.take_when_enough(ms(10), 5000), ms(10), "a full bucket");
        assert_eq!(bucket.take_when_enough(ms(10), 1000), ms(13), "first the debt of 2000 bytes");
    }
}
