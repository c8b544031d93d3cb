use core::fmt;

/// A sequence number as on the wire: 32 bits, compared modulo 2^32 (RFC 9293 §3.4).
///
/// Inside the engine positions are 64 bits wide and never wrap: a connection adds its initial
/// sequence number on the way out and [unwraps](SeqNumber::unwrap_near) on the way in.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// The number of `position` in a stream whose first number is `self`.
    pub const fn at(self, position: u64) -> SeqNumber {
        SeqNumber(self.0.wrapping_add(position as u32))
    }

    /// How far this number is ahead of `other` (negative: behind), at most half the space.
    pub const fn distance_from(self, other: SeqNumber) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// True if this number comes before `other` in the space of 2^32.
    pub const fn is_before(self, other: SeqNumber) -> bool {
        self.distance_from(other) < 0
    }

    /// The position nearest to `near` that has this number in the stream of `initial`;
    /// `None` if it would lie before the stream's beginning.
    pub const fn unwrap_near(self, initial: SeqNumber, near: u64) -> Option<u64> {
        let offset = self.distance_from(initial.at(near)) as i64;
        near.checked_add_signed(offset)
    }
}

impl fmt::Debug for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for SeqNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_position_survives_the_wire(
            initial: u32, near in 0u64..1 << 40, ahead in -(1i64 << 31) + 1..1i64 << 31
        ) {
            let initial = SeqNumber(initial);
            if let Some(position) = near.checked_add_signed(ahead) {
                prop_assert_eq!(initial.at(position).unwrap_near(initial, near), Some(position));
            }
        }

        #[test]
        fn order_holds_across_the_wrap(a: u32, step in 1u32..1 << 31) {
            let (a, b) = (SeqNumber(a), SeqNumber(a.wrapping_add(step)));
            prop_assert!(a.is_before(b) && !b.is_before(a));
        }
    }

    #[test]
    fn nothing_lies_before_the_first_number() {
        assert_eq!(SeqNumber(9).unwrap_near(SeqNumber(10), 0), None);
        assert_eq!(SeqNumber(0).unwrap_near(SeqNumber(u32::MAX), 0), Some(1));
    }
}
