//! The two state machines of the paper: the handshake (section 3.1.1) and what follows it (section
//! 3.1.2). The variant `Printed` is that of listing D.1.

use crate::model::DuplicateAcks;
use serde::Serialize;
use windlass_base::Ecn;
use windlass_tcp::{Flags, Segment, SeqNumber};

#[cfg(test)]
mod tests;

/// Counters of the proxy of Sprenger 2016.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DuplicateAckCounters {
    /// SYNs that the proxy made ask for ECN.
    pub upgraded: u64,
    /// Connections with ECN at one end only.
    pub proxied: u64,
    /// Packets of the end with ECN that came with CE.
    pub ce: u64,
    /// Packets of the end without ECN that got ECE.
    pub echoes: u64,
    /// Packets of the end without ECN that got ECT(0).
    pub ect: u64,
    /// Packets of the end without ECN that got CWR.
    pub cwr: u64,
    /// Packets with ECE whose ACK number the next three were to repeat.
    pub signals: u64,
    /// Packets whose ACK number was replaced.
    pub rewritten: u64,
}

/// How many packets repeat a saved ACK number.
///
/// The text and the listing have three. The conditions of figure 3.2 taken literally make four, as
/// they count from zero and look at the counter before they add to it.
const REPEATS: u8 = 3;

/// A connection as the proxy sees it. Its ends are distinguished by [`crate::packet::Packet::reverse`].
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Connection {
    /// No SYN so far.
    #[default]
    Unseen,
    /// A SYN of the end `opener` has passed, and no SYN-ACK.
    Opening { opener: bool, opener_has_ecn: bool },
    /// Both ends have ECN, or neither: nothing to do.
    Untouched,
    /// Only one end has ECN.
    Proxied(Proxied),
}

/// A connection of which only one end has ECN.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Proxied {
    /// The end with ECN.
    ecn_end: bool,
    state: State,
    saved: SeqNumber,
    /// Packets that are still to repeat `saved`.
    left: u8,
    /// The next data towards the end with ECN carries CWR.
    owes_cwr: bool,
}

/// A state of figure 3.2.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// `default`: no congestion to report.
    Quiet,
    /// `DupACK`: the next packets of the end with ECN repeat an ACK number.
    Repeating,
    /// `ECEDupACK`: as `Repeating` and `Echoing`.
    Both,
    /// `ECE`: packets towards the end with ECN carry ECE.
    Echoing,
}

impl State {
    fn of(echoing: bool, repeating: bool) -> State {
        match (echoing, repeating) {
            (false, false) => State::Quiet,
            (false, true) => State::Repeating,
            (true, true) => State::Both,
            (true, false) => State::Echoing,
        }
    }

    fn echoes(self) -> bool {
        matches!(self, State::Both | State::Echoing)
    }
}

impl Connection {
    /// Edits a packet of the end `from`, given by its segment and ECN field.
    pub(super) fn handle(
        &mut self,
        variant: DuplicateAcks,
        from: bool,
        (segment, ecn): (&mut Segment, &mut Ecn),
        counters: &mut DuplicateAckCounters,
    ) {
        let syn = segment.flags & (Flags::SYN | Flags::ACK);
        match self {
            // Netfilter takes a repeated SYN for new until an answer has passed, so it asks again.
            Connection::Unseen if syn == Flags::SYN => *self = open(from, segment, counters),
            Connection::Opening { opener, .. } if syn == Flags::SYN && from == *opener => {
                *self = open(from, segment, counters);
            }
            &mut Connection::Opening { opener, opener_has_ecn }
                if syn == Flags::SYN | Flags::ACK && from != opener =>
            {
                *self = answer(opener, opener_has_ecn, segment);
                counters.proxied += u64::from(matches!(self, Connection::Proxied(_)));
            }
            Connection::Proxied(proxied) if proxied.ecn_end == from => {
                proxied.handle_signals(variant, segment, *ecn, counters);
                // CWR passes: the listing does not clear it.
                *ecn = Ecn::NotEct;
                segment.flags.remove(Flags::ECE);
            }
            Connection::Proxied(proxied) => proxied.speak_ecn(segment, ecn, counters),
            Connection::Unseen | Connection::Opening { .. } | Connection::Untouched => {}
        }
    }
}

/// A SYN: asks for ECN where the opener does not.
fn open(opener: bool, segment: &mut Segment, counters: &mut DuplicateAckCounters) -> Connection {
    let opener_has_ecn = segment.flags.contains(Flags::ECE | Flags::CWR);
    if !opener_has_ecn {
        segment.flags.insert(Flags::ECE | Flags::CWR);
        counters.upgraded += 1;
    }
    Connection::Opening { opener, opener_has_ecn }
}

/// A SYN-ACK: each end gets the answer that it understands.
fn answer(opener: bool, opener_has_ecn: bool, segment: &mut Segment) -> Connection {
    let signals = segment.flags & (Flags::ECE | Flags::CWR);
    let called_has_ecn = signals == Flags::ECE;
    let ecn_end = match (opener_has_ecn, called_has_ecn) {
        (true, false) => opener,
        (false, true) => !opener,
        (true, true) | (false, false) => return Connection::Untouched,
    };
    segment.flags.remove(Flags::ECE | Flags::CWR);
    segment.flags.set(Flags::ECE, opener_has_ecn);
    Connection::Proxied(Proxied {
        ecn_end,
        state: State::Quiet,
        saved: SeqNumber(0),
        left: 0,
        owes_cwr: false,
    })
}

impl Proxied {
    /// A packet of the end with ECN: the only one that changes the state.
    fn handle_signals(
        &mut self,
        variant: DuplicateAcks,
        segment: &mut Segment,
        ecn: Ecn,
        counters: &mut DuplicateAckCounters,
    ) {
        let ce = ecn == Ecn::Ce;
        let [ece, cwr] = [Flags::ECE, Flags::CWR].map(|flag| segment.flags.contains(flag));
        counters.ce += u64::from(ce);
        let repeating = match self.state {
            State::Quiet | State::Echoing if ece => {
                let faulty = variant == DuplicateAcks::Printed && self.state == State::Quiet;
                self.saved = if faulty { ack_flag(segment) } else { segment.ack };
                self.left = REPEATS;
                counters.signals += 1;
                true
            }
            State::Quiet | State::Echoing => false,
            State::Repeating | State::Both => {
                segment.ack = self.saved;
                self.left -= 1;
                counters.rewritten += 1;
                self.owes_cwr |= self.left == 0 && variant == DuplicateAcks::WithCwr;
                self.left > 0
            }
        };
        let echoing = match self.state {
            State::Quiet | State::Repeating => ce,
            // The listing also forgets an echo that no CWR has ended.
            State::Both if variant == DuplicateAcks::Printed && !repeating => false,
            State::Both | State::Echoing => !cwr,
        };
        self.state = State::of(echoing, repeating);
    }

    /// A packet of the end without ECN. All of them get ECT(0), pure ACKs and retransmissions too.
    fn speak_ecn(
        &mut self,
        segment: &mut Segment,
        ecn: &mut Ecn,
        counters: &mut DuplicateAckCounters,
    ) {
        // ECT(0) is one bit, which the listing sets; the text says ECT(1).
        *ecn = Ecn::from_bits(ecn.bits() | Ecn::Ect0.bits());
        counters.ect += 1;
        if self.state.echoes() {
            segment.flags.insert(Flags::ECE);
            counters.echoes += 1;
        }
        if self.owes_cwr && segment.payload_len > 0 {
            segment.flags.insert(Flags::CWR);
            self.owes_cwr = false;
            counters.cwr += 1;
        }
    }
}

/// The value that the paper's listing saves for its duplicate ACKs: the ACK flag instead of the
/// number. The listing writes that into the header without a change of byte order, so that the
/// flag's 1 is the number 2^24 on the wire of the paper's little-endian hosts.
fn ack_flag(segment: &Segment) -> SeqNumber {
    SeqNumber(u32::from(segment.flags.contains(Flags::ACK)).swap_bytes())
}
