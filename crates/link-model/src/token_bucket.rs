//! Token buckets of a link: the policer before the queue, and the bucket of the
//! [`Transmitter`](crate::Transmitter)'s shaper. The arithmetic is that of `windlass-base` (GCRA),
//! in bits.

use crate::ConfigError;
use windlass_base::{BitRate, RateLimit, Time};

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
    /// In bits.
    limit: RateLimit,
    bucket: windlass_base::TokenBucket,
}

impl Bucket {
    pub(crate) fn new(config: &TokenBucket) -> Bucket {
        let limit =
            RateLimit::per_second(config.rate.bits_per_sec(), config.burst_bytes.saturating_mul(8));
        Bucket { limit, bucket: windlass_base::TokenBucket::default() }
    }

    /// Takes the tokens of a packet; false, and takes none, if there are fewer.
    fn take(&mut self, now: Time, bytes: u32) -> bool {
        self.bucket.take(&self.limit, now, u64::from(bytes) * 8)
    }

    /// Takes the tokens of a packet as soon as there are enough, from `now` on, and returns that time.
    /// A packet larger than the bucket goes when the bucket is full.
    pub(crate) fn take_when_ready(&mut self, now: Time, bytes: u32) -> Time {
        self.bucket.take_when_ready(&self.limit, now, u64::from(bytes) * 8)
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
    use windlass_base::Span;

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
                at = bucket.take_when_ready(at, 1000);
                at
            })
            .collect();
        assert_eq!(times, [ms(0), ms(0), ms(0), ms(1), ms(2)]);
        assert_eq!(bucket.take_when_ready(ms(10), 5000), ms(10), "a full bucket");
        assert_eq!(bucket.take_when_ready(ms(10), 1000), ms(13), "first the debt of 2000 bytes");
    }
}
