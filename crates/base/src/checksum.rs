//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// A ones' complement sum of 16-bit words in the making.
#[derive(Copy, Clone, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd last one counts as the high half of a word (RFC 1071 §1). Only the last
    /// piece of a sum may be odd.
    #[inline]
    pub fn add_bytes(self, bytes: &[u8]) -> Sum {
        // 32 bits at a time (RFC 1071 §2 (B)): 2^32 such words fit into the sum.
        let (words, tail) = bytes.as_chunks::<4>();
        let whole: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        Sum(self.0 + whole + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds a number of 32 bits.
    #[inline]
    pub fn add_u32(self, number: u32) -> Sum {
        Sum(self.0 + u64::from(number))
    }

    /// The checksum: the complement of the folded sum. Zero over bytes that hold their own
    /// checksum, if it is right.
    #[inline]
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        // RFC 1071 §1: carries are added at the low end.
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

/// The checksum of `bytes`, whose checksum field holds zero. Zero over bytes that hold their own
/// checksum, if it is right.
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::default().add_bytes(bytes).finish()
}

/// The checksum after `old` was replaced by `new` in the bytes that it covers. Both have the same,
/// even length and begin at a word. A wrong checksum stays wrong.
pub fn update(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    debug_assert!(old.len() == new.len() && old.len().is_multiple_of(2));
    // RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
    let without =
        Sum::default().add_u32(u32::from(!checksum)).add_u32(u32::from(self::checksum(old)));
    without.add_bytes(new).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(update(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
    }

    proptest! {
        #[test]
        fn agrees_with_the_sum_word_by_word(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let mut plain = 0u32;
            for pair in bytes.chunks(2) {
                plain += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
                plain = (plain & 0xffff) + (plain >> 16);
            }
            prop_assert_eq!(checksum(&bytes), !(plain as u16));
        }

        #[test]
        fn an_update_equals_the_checksum_of_the_new_bytes(
            before in prop::collection::vec(any::<u8>(), 8..64),
            new in any::<[u8; 4]>(),
        ) {
            // Zero has two forms in ones' complement: with one more, the sum is never zero.
            let sum_of = |bytes: &[u8]| Sum::default().add_u32(1).add_bytes(bytes).finish();
            let mut after = before.clone();
            after[2..6].copy_from_slice(&new);
            prop_assert_eq!(update(sum_of(&before), &before[2..6], &new), sum_of(&after));
        }
    }
}
