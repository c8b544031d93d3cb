//! Limited Slow Start (RFC 3742): slow start that adds at most half of `max_ssthresh` in a round trip. The engine
//! applies it to the credit of an ACK, so that it holds for every controller that grows by [`Ack::credit`](super::Ack).

/// The threshold above which slow start is limited, and the bytes that earlier ACKs have left.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct LimitedSlowStart {
    /// RFC 3742's max_ssthresh in bytes.
    max_ssthresh: u64,
    /// Credit that is not a byte of growth yet, in K-ths of a byte. Without it int(MSS/K) would be 0 where K exceeds
    /// the MSS, and a window of 73,000 segments of 1460 bytes would grow no more.
    rest: u64,
}

impl LimitedSlowStart {
    /// `segments` of `mss` bytes are the threshold.
    pub(crate) fn new(segments: u32, mss: u32) -> LimitedSlowStart {
        LimitedSlowStart { max_ssthresh: u64::from(segments) * u64::from(mss), rest: 0 }
    }

    /// The part of an ACK's `credit` that counts in slow start with a window of `cwnd` bytes.
    pub(crate) fn limit(&mut self, credit: u64, cwnd: f64) -> u64 {
        let max_ssthresh = self.max_ssthresh as f64;
        // RFC 3742 §2: up to max_ssthresh, cwnd += MSS.
        if cwnd <= max_ssthresh {
            return credit;
        }
        // RFC 3742 §2: K = int(cwnd / (0.5 max_ssthresh)), cwnd += int(MSS / K).
        let k = ((cwnd / (0.5 * max_ssthresh)) as u64).max(1);
        let due = credit + self.rest;
        self.rest = due % k;
        due / k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1460;
    const SEGMENTS: u32 = 100;

    fn limited() -> LimitedSlowStart {
        LimitedSlowStart::new(SEGMENTS, MSS as u32)
    }

    /// Windows in segments, after each ACK of a round trip that has one for each segment.
    fn round_trip(limited: &mut LimitedSlowStart, segments: f64) -> f64 {
        let mut cwnd = segments * MSS as f64;
        for _ in 0..segments as u64 {
            cwnd += limited.limit(MSS, cwnd) as f64;
        }
        cwnd / MSS as f64
    }

    /// RFC 3742 section 2: cwnd += int(MSS/K) with K = int(cwnd/(0.5 max_ssthresh)).
    #[test]
    fn an_ack_adds_the_part_of_a_segment_that_the_formula_has() {
        for (segments, k) in
            [(100.5, 2), (149.0, 2), (150.0, 3), (199.0, 3), (200.0, 4), (5000.0, 100)]
        {
            assert_eq!(limited().limit(MSS, segments * MSS as f64), MSS / k, "{segments}");
        }
    }

    #[test]
    fn up_to_the_threshold_slow_start_is_as_ever() {
        for segments in [1.0, 50.0, 100.0] {
            assert_eq!(limited().limit(MSS, segments * MSS as f64), MSS, "{segments}");
        }
        assert_eq!(round_trip(&mut limited(), 50.0), 100.0);
    }

    /// RFC 3742 section 2: above the threshold the window grows by at most half of it in a round trip.
    #[test]
    fn a_round_trip_adds_at_most_half_the_threshold() {
        for segments in [101.0, 500.0, 2500.0, 83_000.0] {
            let grown = round_trip(&mut limited(), segments) - segments;
            let most = f64::from(SEGMENTS) / 2.0 * 1.02;
            assert!(grown > 0.6 * most && grown <= most, "{segments}: {grown}");
        }
    }

    #[test]
    fn no_byte_is_lost_to_the_division() {
        let mut limited = limited();
        // K = 3: 1460 bytes are no multiple of it, and three ACKs of one byte are one of growth.
        let cwnd = 150.0 * MSS as f64;
        assert_eq!((0..3).map(|_| limited.limit(MSS, cwnd)).sum::<u64>(), MSS);
        assert_eq!((0..3).map(|_| limited.limit(1, cwnd)).sum::<u64>(), 1);
    }

    #[test]
    fn a_threshold_of_nothing_lets_nothing_grow() {
        assert_eq!(LimitedSlowStart::new(0, 1460).limit(MSS, 10_000.0), 0);
    }
}
