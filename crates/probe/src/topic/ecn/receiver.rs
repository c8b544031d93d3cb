//! The receiver of a half-connection in AccECN mode: what it counts and feeds back.

use crate::wire::AccEcnOption;
use windlass_base::Ecn;

/// Counters of byte options have 24 bits.
const FIELD_MASK: u32 = 0xff_ffff;

/// The counters of a receiver (RFC 9768 section 3.2). They begin as section 3.2.1 has it, other than at zero,
/// so that a field that was zeroed on the way is noticed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Receiver {
    ce_packets: u32,
    ect0_bytes: u32,
    ce_bytes: u32,
    ect1_bytes: u32,
    /// A SYN-ACK was marked.
    syn_ack_marked: bool,
}

impl Receiver {
    /// A client's receiver once the SYN-ACK has arrived with this codepoint. It counts a mark on the SYN-ACK
    /// (RFC 9768 section 3.2.2.1, table 3).
    pub(super) fn after_syn_ack(syn_ack: Ecn) -> Receiver {
        let mut receiver = Receiver {
            ce_packets: 5,
            ect0_bytes: 1,
            ce_bytes: 0,
            ect1_bytes: 1,
            syn_ack_marked: false,
        };
        receiver.take_syn_ack(syn_ack);
        receiver
    }

    /// Counts a mark on a SYN-ACK, of which there may be several, once (RFC 9768 section 3.2.2.2).
    pub(super) fn take_syn_ack(&mut self, codepoint: Ecn) {
        if codepoint == Ecn::Ce && !std::mem::replace(&mut self.syn_ack_marked, true) {
            self.take(codepoint, 1, 0);
        }
    }

    /// Counts packets that arrive with this codepoint, and their payload.
    pub(super) fn take(&mut self, codepoint: Ecn, packets: u32, bytes: u32) {
        let counter = match codepoint {
            Ecn::NotEct => return,
            Ecn::Ect0 => &mut self.ect0_bytes,
            Ecn::Ect1 => &mut self.ect1_bytes,
            Ecn::Ce => {
                self.ce_packets = self.ce_packets.wrapping_add(packets);
                &mut self.ce_bytes
            }
        };
        *counter = counter.wrapping_add(bytes);
    }

    /// The ACE field of the next segment: CE packets modulo 8 (RFC 9768 section 3.2.2).
    pub(super) fn ace(&self) -> u8 {
        (self.ce_packets & 0b111) as u8
    }

    /// The AccECN option of the next segment (RFC 9768 section 3.2.3).
    pub(super) fn option(&self) -> AccEcnOption {
        AccEcnOption {
            ect0: Some(self.ect0_bytes & FIELD_MASK),
            ce: Some(self.ce_bytes & FIELD_MASK),
            ect1: Some(self.ect1_bytes & FIELD_MASK),
        }
    }

    /// The ACE field of the pure ACK of a SYN-ACK: no counter, but the codepoint with which the SYN-ACK
    /// arrived (RFC 9768 section 3.2.2.1, table 3).
    pub(super) fn ace_of_handshake(syn_ack: Ecn) -> u8 {
        match syn_ack {
            Ecn::NotEct => 0b010,
            Ecn::Ect1 => 0b011,
            Ecn::Ect0 => 0b100,
            Ecn::Ce => 0b110,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_begin_at_5_or_6_and_wrap() {
        let mut receiver = Receiver::after_syn_ack(Ecn::Ect0);
        assert_eq!(receiver.ace(), 5);
        assert_eq!(Receiver::after_syn_ack(Ecn::Ce).ace(), 6);
        receiver.take(Ecn::Ce, 4, 1000);
        receiver.take(Ecn::Ect0, 2, 0x0100_0000);
        receiver.take(Ecn::NotEct, 9, 9);
        assert_eq!(receiver.ace(), 1);
        let option = AccEcnOption { ect0: Some(1), ce: Some(1000), ect1: Some(1) };
        assert_eq!(receiver.option(), option);
    }
}
