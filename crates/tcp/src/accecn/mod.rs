//! AccECN (RFC 9768): feedback that counts the packets and bytes with CE, where classic ECN has one echo per
//! round trip.
//!
//! `negotiation` has the tables of the handshake, `counters` what this end counts as a receiver, and `decoder`
//! what it learns as a sender. `conn::accurate` connects them with a connection.

mod counters;
mod decoder;
pub mod negotiation;
mod option_loss;

pub use counters::Counters;
pub(crate) use decoder::{Decoder, Feedback, NewMarks};
pub(crate) use option_loss::OptionLoss;

use crate::config::{AccEcnConfig, OptionUse};
use crate::segment::{AccEcnOption, Options};
use windlass_base::Ecn;

/// The state of a connection whose ends have agreed on AccECN.
#[derive(Clone, Debug)]
pub(crate) struct AccEcn {
    /// This end as a receiver.
    pub(crate) counters: Counters,
    /// This end as a sender.
    pub(crate) decoder: Decoder,
    /// The codepoint of the peer's last SYN or SYN-ACK.
    pub(crate) handshake: Ecn,
    /// The next pure ACK feeds `handshake` back (§3.2.2.1).
    pub(crate) owes_handshake: bool,
    /// The next segment that can carry it has an option with all fields (§3.2.3.2.1).
    pub(crate) owes_option: bool,
    /// So has the first data.
    pub(crate) first_data: bool,
    /// Whether segments with options seem to reach the peer.
    pub(crate) option_loss: OptionLoss,
    /// The segments that carry the option.
    pub(crate) option: OptionUse,
    /// An option of the peer has arrived.
    pub(crate) saw_option: bool,
    /// Data may be ECT (§3.1.5, §3.2.2.3, §3.2.2.4).
    pub(crate) sends_ect: bool,
    /// Marks that the peer reports count (§3.2.2.1 note 1, §3.2.2.4).
    pub(crate) responds: bool,
    /// A segment with ACE as a counter has arrived.
    pub(crate) has_feedback: bool,
}

impl AccEcn {
    /// The state of the end that has received a SYN with the codepoint `syn`.
    pub(crate) fn responder(syn: Ecn, config: &AccEcnConfig) -> AccEcn {
        let mut counters = Counters::new();
        counters.set_whole_options(config.option == OptionUse::Always);
        AccEcn {
            counters,
            decoder: Decoder::new(config.wraps_by_ack_ratio),
            handshake: syn,
            owes_handshake: false,
            owes_option: true,
            first_data: false,
            option_loss: OptionLoss::new(config.option_losses),
            option: config.option,
            saw_option: false,
            sends_ect: true,
            responds: true,
            has_feedback: false,
        }
    }

    /// The state of the end that has received a SYN-ACK with the codepoint `syn_ack`.
    pub(crate) fn initiator(syn_ack: Ecn, config: &AccEcnConfig) -> AccEcn {
        let agreed = AccEcn::responder(syn_ack, config);
        let mut state = AccEcn { owes_handshake: true, first_data: true, ..agreed };
        state.take_syn_ack(syn_ack);
        state
    }

    /// Notes the codepoint of a SYN-ACK. CE counts once, however often it comes (§3.2.2.2).
    pub(crate) fn take_syn_ack(&mut self, codepoint: Ecn) {
        if codepoint == Ecn::Ce {
            self.counters.count_syn_ack();
        }
        self.handshake = codepoint;
    }

    /// The option of the segment that completes the handshake.
    pub(crate) fn take_first_option(&mut self, option: Option<&AccEcnOption>) {
        self.saw_option |= option.is_some();
        self.decoder.judge_first_option(option);
    }

    /// The feedback says that the SYN or SYN-ACK of this end, which was Not-ECT, arrived as `codepoint`. Any
    /// other codepoint shows that the path changes the field (§3.2.2.3).
    pub(crate) fn judge_handshake(&mut self, codepoint: Ecn) {
        self.sends_ect &= codepoint == Ecn::NotEct;
    }

    /// A segment with an ACK leaves, with these options.
    pub(crate) fn note_option(&mut self, options: &Options) {
        let timestamp = options.timestamps.map(|timestamps| timestamps.value);
        self.option_loss.note_sent(options.accecn.is_some(), timestamp);
    }

    /// The option of a segment that has `room` bytes for it; `owed`: one with all fields is due.
    pub(crate) fn next_option(&mut self, room: usize, owed: bool) -> Option<AccEcnOption> {
        let uses = match self.option {
            OptionUse::Never => false,
            OptionUse::AfterChange => true,
            OptionUse::Always => self.saw_option,
        };
        if !uses || !self.option_loss.passes() {
            return None;
        }
        match owed {
            true => Some(self.counters.send_whole_option()),
            false => self.counters.send_option(room),
        }
    }

    /// Changes the segments that carry the option.
    pub(crate) fn set_option(&mut self, option: OptionUse) {
        self.option = option;
        self.counters.set_whole_options(option == OptionUse::Always);
    }

    /// True if retransmissions carry the option.
    pub(crate) fn repeats_option(&self) -> bool {
        self.option == OptionUse::Always
    }

    /// ACE is zero where it cannot be: the peer has not entered AccECN mode, or the path zeroes the field
    /// (§3.2.2.4).
    pub(crate) fn give_up(&mut self) {
        self.sends_ect = false;
        self.responds = false;
    }
}

/// The counters of AccECN on a connection, since its beginning.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct AccurateEcn {
    /// The peer's packets, as this end has counted them.
    pub received: EcnCounts,
    /// This end's packets, as far as the peer has reported them.
    pub reported: EcnCounts,
    /// Data may be sent as ECT: no fault of the path was found.
    pub sends_ect: bool,
}

/// Packets and payload by the codepoint with which they arrived (RFC 9768 §3.2).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct EcnCounts {
    /// Packets with CE.
    pub ce_packets: u64,
    /// Payload in bytes with CE.
    pub ce_bytes: u64,
    /// Payload in bytes with ECT(0).
    pub ect0_bytes: u64,
    /// Payload in bytes with ECT(1).
    pub ect1_bytes: u64,
}
