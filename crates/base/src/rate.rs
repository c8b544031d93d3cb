use crate::Span;
use core::fmt;

/// A link's rate in bits per second, never zero.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// A rate of `bits` per second; `None` for zero, at which no packet would ever leave.
    pub const fn from_bits_per_sec(bits: u64) -> Option<BitRate> {
        if bits == 0 { None } else { Some(BitRate(bits)) }
    }

    /// The rate in bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// The time to transmit `bytes` on the link, rounded down to the nanosecond.
    pub fn transmission_time(self, bytes: u32) -> Span {
        // 2^32 bytes are 3.4e19 bit-nanoseconds: a few bits more than u64 holds.
        let bit_ns = u64::from(bytes) * 8;
        Span::from_nanos(match bit_ns.checked_mul(1_000_000_000) {
            Some(product) => product / self.0,
            None => {
                let ns = u128::from(bit_ns) * 1_000_000_000 / u128::from(self.0);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        })
    }
}

impl fmt::Debug for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b if b % 1_000_000_000 == 0 => write!(f, "{} Gbit/s", b / 1_000_000_000),
            b if b % 1_000_000 == 0 => write!(f, "{} Mbit/s", b / 1_000_000),
            b if b % 1_000 == 0 => write!(f, "{} kbit/s", b / 1_000),
            b => write!(f, "{b} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_of_the_papers_links() {
        let ten_mbit = BitRate::from_bits_per_sec(10_000_000).expect("not zero");
        assert_eq!(ten_mbit.transmission_time(512), Span::from_nanos(409_600));
        assert_eq!(ten_mbit.transmission_time(40), Span::from_nanos(32_000));
        let slow = BitRate::from_bits_per_sec(1).expect("not zero");
        assert_eq!(slow.transmission_time(u32::MAX), Span::MAX, "a thousand years saturate");
        let fast = BitRate::from_bits_per_sec(100_000_000_000).expect("not zero");
        assert_eq!(fast.transmission_time(u32::MAX).as_nanos(), 343_597_383);
        assert_eq!(BitRate::from_bits_per_sec(0), None);
    }
}
