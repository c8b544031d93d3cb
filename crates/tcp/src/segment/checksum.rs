//! The Internet checksum (RFC 1071).

/// A ones' complement sum of 16-bit words in the making.
#[derive(Copy, Clone, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds bytes; an odd last one counts as the high half of a word (RFC 1071 §1). Only the last
    /// piece of a sum may be odd.
    pub(super) fn add(self, bytes: &[u8]) -> Sum {
        // 32 bits at a time (RFC 1071 §2 (B)): 2^32 such words fit into the sum.
        let (words, tail) = bytes.as_chunks::<4>();
        let whole: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        Sum(self.0 + whole + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds a number of 32 bits.
    pub(super) fn add_u32(self, number: u32) -> Sum {
        Sum(self.0 + u64::from(number))
    }

    /// The checksum: the complement of the folded sum. Zero over bytes that hold their own
    /// checksum, if it is right.
    pub(super) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1071() {
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn agrees_with_the_sum_word_by_word(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let mut plain = 0u32;
            for pair in bytes.chunks(2) {
                plain += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
                plain = (plain & 0xffff) + (plain >> 16);
            }
            prop_assert_eq!(Sum::default().add(&bytes).finish(), !(plain as u16));
        }
    }
}
