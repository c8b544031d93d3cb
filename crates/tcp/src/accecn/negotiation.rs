//! The three flags AE, CWR and ECE as a number, and what they say during the handshake (RFC 9768 §3.1, §3.2.2.1).

use crate::Flags;
use windlass_base::Ecn;

/// The flags of a SYN that asks for AccECN (§3.1.1).
pub const ASK: Flags = Flags::AE.union(Flags::CWR).union(Flags::ECE);

/// Position of the flag ECE, the lowest of the three.
const SHIFT: u32 = Flags::ECE.bits().trailing_zeros();

/// The feedback that a handshake agrees on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// No ECN.
    NotEcn,
    /// ECE until CWR (RFC 3168).
    Classic,
    /// Counters (RFC 9768).
    Accurate,
}

/// The ACE field: the three flags as a number (§3.2.2).
pub fn ace(flags: Flags) -> u8 {
    ((flags & ASK).bits() >> SHIFT) as u8
}

/// The flags that hold the low three bits of `ace`.
pub fn flags_of(ace: u8) -> Flags {
    Flags::from_bits_retain(u16::from(ace & 7) << SHIFT)
}

/// The number by which a SYN-ACK, or the ACK of a SYN-ACK, feeds a codepoint back (tables 2 and 3).
pub fn encode(codepoint: Ecn) -> u8 {
    match codepoint {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The codepoint that such a number feeds back; `None` for one that names none (table 4, §3.1.3).
pub fn decode(ace: u8) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]
        .into_iter()
        .find(|codepoint| encode(*codepoint) == ace)
}

/// The mode of the end that receives a SYN with these flags (§3.1.2). Every combination without a meaning of
/// its own asks for AccECN (§3.1.3).
pub(crate) fn mode_of_syn(flags: Flags) -> Mode {
    match ace(flags) {
        0b000 => Mode::NotEcn,
        0b011 => Mode::Classic,
        _ => Mode::Accurate,
    }
}

/// The mode of the end that asked for AccECN and receives a SYN-ACK with these flags (table 2). 111 is the SYN's
/// own, from a peer that reflects flags; 101 is reserved and counts as agreement (§3.1.3).
pub(crate) fn mode_of_syn_ack(flags: Flags) -> Mode {
    match ace(flags) {
        0b000 | 0b111 => Mode::NotEcn,
        0b001 => Mode::Classic,
        _ => Mode::Accurate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_flags_are_a_number_with_ece_as_its_lowest_bit() {
        assert_eq!(ace(Flags::AE), 0b100);
        assert_eq!(ace(Flags::CWR | Flags::ACK), 0b010);
        assert_eq!(ace(Flags::ECE | Flags::SYN), 0b001);
        for number in 0..8 {
            assert_eq!(ace(flags_of(number)), number);
        }
        assert_eq!(flags_of(13), flags_of(5));
    }

    #[test]
    fn rfc9768_table_4_each_number_of_the_last_ack() {
        let expected = [
            None,
            None,
            Some(Ecn::NotEct),
            Some(Ecn::Ect1),
            Some(Ecn::Ect0),
            None,
            Some(Ecn::Ce),
            None,
        ];
        assert_eq!(core::array::from_fn::<_, 8, _>(|number| decode(number as u8)), expected);
    }
}
