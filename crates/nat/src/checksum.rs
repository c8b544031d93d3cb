//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// The checksum over `bytes` and `more`, which is a sum of words such as that of a pseudo header.
pub(crate) fn checksum(bytes: &[u8], more: u32) -> u16 {
    !fold(more + sum(bytes))
}

/// The sum of 16-bit words; an odd last byte is the high half of a word.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<2>();
    let whole: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    whole + tail.first().map_or(0, |octet| u32::from(*octet) << 8)
}

/// The checksum after `old` was replaced by `new` in the bytes that it covers: equation 3 of RFC
/// 1624. Both have the same, even length.
pub(crate) fn update(checksum: u16, old: &[u8], new: &[u8]) -> u16 {
    debug_assert!(old.len() == new.len() && old.len().is_multiple_of(2));
    // HC' = ~(~HC + ~m + m').
    let without = u32::from(!checksum) + u32::from(!fold(sum(old)));
    !fold(without + sum(new))
}

fn fold(sum: u32) -> u16 {
    // RFC 1071: carries are added at the low end.
    let once = (sum >> 16) + (sum & 0xffff);
    ((once >> 16) + (once & 0xffff)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_1624() {
        assert_eq!(update(0xdd2f, &[0x55, 0x55], &[0x32, 0x85]), 0x0000);
    }

    proptest! {
        #[test]
        fn an_update_equals_the_checksum_of_the_new_bytes(
            before in prop::collection::vec(any::<u8>(), 8..64),
            new in any::<[u8; 4]>(),
        ) {
            let mut after = before.clone();
            after[2..6].copy_from_slice(&new);
            let updated = update(checksum(&before, 1), &before[2..6], &new);
            prop_assert_eq!(updated, checksum(&after, 1));
        }
    }
}
