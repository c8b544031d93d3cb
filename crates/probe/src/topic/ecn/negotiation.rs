//! Negotiation of ECN: the request of a SYN, and the answer of a SYN-ACK.

use super::codepoint::{by_name, by_name_if_any};
use crate::wire::Received;
use serde::Serialize;
use std::fmt;
use windlass_base::Ecn;
use windlass_tcp::Flags;
use windlass_tcp::accecn::negotiation::{ASK, ace, decode};

/// SYNs that ask. Later ones do not, in case the path drops those (RFC 9768 section 3.1.4.1, RFC 3168 section
/// 6.1.1.1).
const SYNS_ASKING: u32 = 2;

/// The kind of ECN that a SYN requests.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// AccECN: AE, CWR and ECE.
    Accurate,
    /// Classic ECN: CWR and ECE.
    Classic,
}

impl Ask {
    /// The flags for ECN of the SYN with this number, from 1.
    pub(crate) fn flags_of_syn(self, number: u32) -> Flags {
        match self {
            _ if number > SYNS_ASKING => Flags::empty(),
            Ask::Accurate => ASK,
            Ask::Classic => Flags::CWR | Flags::ECE,
        }
    }
}

/// The meaning of the three flags of a SYN-ACK (RFC 9768 section 3.1.2, table 2).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// AccECN; the flags say with which codepoint the SYN arrived.
    Accurate,
    /// The combination that once was the nonce's and is reserved: to be taken as AccECN.
    Reserved,
    /// Classic ECN.
    Classic,
    /// No ECN.
    None,
    /// The flags of the SYN come back: the server reflects bits that it does not know.
    Reflected,
}

/// The feedback of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// That of RFC 9768: counters.
    Accurate,
    /// That of RFC 3168: a flag, once in a round trip.
    Classic,
    /// The connection has no ECN.
    None,
}

/// A handshake, as the client saw it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Negotiation {
    /// The request of the SYN.
    pub ask: Ask,
    /// The answer of the SYN-ACK.
    pub answer: Answer,
    /// The codepoint of the SYN on arrival, which was sent as Not-ECT; AccECN only.
    #[serde(serialize_with = "by_name_if_any")]
    pub syn_arrived: Option<Ecn>,
    /// The codepoint with which the SYN-ACK arrived.
    #[serde(serialize_with = "by_name")]
    pub syn_ack: Ecn,
    /// SYNs sent, of which the first two asked. After more the answer may be to one that did not.
    pub syns: u32,
}

impl Negotiation {
    /// Reads a SYN-ACK.
    pub(crate) fn of(ask: Ask, received: &Received<'_>, syns: u32) -> Negotiation {
        let flags = received.segment.flags;
        let (answer, syn_arrived) = match ask {
            Ask::Accurate => read_accurate(ace(flags)),
            Ask::Classic => (read_classic(flags), None),
        };
        Negotiation { ask, answer, syn_arrived, syn_ack: received.ecn, syns }
    }

    /// The feedback that both ends use from now on.
    pub fn mode(&self) -> Mode {
        match self.answer {
            // RFC 9768 section 3.1.3.
            Answer::Accurate | Answer::Reserved => Mode::Accurate,
            Answer::Classic => Mode::Classic,
            Answer::None | Answer::Reflected => Mode::None,
        }
    }

    /// Whether the codepoint of the SYN changed on the way, which is never right for Not-ECT (RFC 9768
    /// section 3.2.2.3).
    pub(crate) fn is_mangled(&self) -> bool {
        self.syn_arrived.is_some_and(Ecn::is_capable)
    }

    /// Whether SYNs without a request were sent, and the server answered without ECN.
    pub(crate) fn fell_back(&self) -> bool {
        self.syns > SYNS_ASKING && self.mode() == Mode::None
    }
}

fn read_accurate(ace: u8) -> (Answer, Option<Ecn>) {
    let syn_arrived = decode(ace);
    let answer = match ace {
        _ if syn_arrived.is_some() => Answer::Accurate,
        0b101 => Answer::Reserved,
        0b001 => Answer::Classic,
        0b111 => Answer::Reflected,
        _ => Answer::None,
    };
    (answer, syn_arrived)
}

/// RFC 3168 section 6.1.1: ECE without CWR is an ECN-setup SYN-ACK.
fn read_classic(flags: Flags) -> Answer {
    match (flags.contains(Flags::CWR), flags.contains(Flags::ECE)) {
        (false, true) => Answer::Classic,
        (true, true) => Answer::Reflected,
        (_, false) => Answer::None,
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Accurate => "AccECN (RFC 9768)",
            Answer::Reserved => "a reserved answer, taken as AccECN (RFC 9768, section 3.1.3)",
            Answer::Classic => "classic ECN (RFC 3168)",
            Answer::None => "no ECN",
            Answer::Reflected => "no ECN: the server reflects the flags of the SYN",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::endpoint::tests::received;
    use super::*;
    use windlass_tcp::accecn::negotiation::flags_of;

    fn answer(ask: Ask, ace: u8) -> Negotiation {
        let flags = Flags::SYN | Flags::ACK | flags_of(ace);
        Negotiation::of(ask, &received(flags, 0, Ecn::NotEct), 1)
    }

    #[test]
    fn every_answer_to_a_syn_of_accecn_has_the_meaning_of_table_2() {
        use Answer::{Accurate, Classic, None as No, Reflected, Reserved};
        let table = [
            (0b000, No, None, Mode::None),
            (0b001, Classic, None, Mode::Classic),
            (0b010, Accurate, Some(Ecn::NotEct), Mode::Accurate),
            (0b011, Accurate, Some(Ecn::Ect1), Mode::Accurate),
            (0b100, Accurate, Some(Ecn::Ect0), Mode::Accurate),
            (0b101, Reserved, None, Mode::Accurate),
            (0b110, Accurate, Some(Ecn::Ce), Mode::Accurate),
            (0b111, Reflected, None, Mode::None),
        ];
        for (ace, expected, syn, mode) in table {
            let seen = answer(Ask::Accurate, ace);
            assert_eq!(
                (seen.answer, seen.syn_arrived, seen.mode()),
                (expected, syn, mode),
                "{ace}"
            );
            assert_eq!(seen.is_mangled(), syn.is_some_and(|syn| syn != Ecn::NotEct), "{ace}");
        }
    }

    #[test]
    fn a_classic_syn_is_answered_by_ece_alone() {
        let answers = (0..8).map(|ace| answer(Ask::Classic, ace).answer);
        use Answer::{Classic, None as No, Reflected};
        let expected = [No, Classic, No, Reflected, No, Classic, No, Reflected];
        assert_eq!(answers.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_third_syn_asks_for_nothing() {
        let flags = |ask: Ask| [1, 2, 3, 4].map(|number| ace(ask.flags_of_syn(number)));
        assert_eq!(flags(Ask::Accurate), [0b111, 0b111, 0, 0]);
        assert_eq!(flags(Ask::Classic), [0b011, 0b011, 0, 0]);
    }
}
