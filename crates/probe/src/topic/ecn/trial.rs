//! The ECN of one connection: what was negotiated, sent, and fed back.

use super::codepoint::Codepoints;
use super::negotiation::{Answer, Mode, Negotiation};
use serde::Serialize;
use windlass_tcp::accecn::Counters;

/// A server's feedback on the codepoints of the probe's packets.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Feedback {
    /// ACE of the first packet after the SYN-ACK; AccECN only.
    pub ace_first: Option<u8>,
    /// ACE of the last packet that acknowledges every marked one; AccECN only.
    pub ace_last: Option<u8>,
    /// Packets with ECE; classic ECN only.
    pub echoes: u32,
    /// The SYN-ACK had an AccECN option.
    pub option_on_syn_ack: bool,
    /// EE0B, ECEB and EE1B of the last AccECN option, in bytes; a field that was left out is `null`.
    pub option: Option<[Option<u32>; 3]>,
}

/// A connection that asked for ECN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// The handshake.
    #[serde(flatten)]
    pub negotiation: Negotiation,
    /// The probe's packets with data, by the codepoint that they were sent with.
    pub sent: Codepoints,
    /// The probe's packets that were sent again, as Not-ECT. Of marks that were lost the server knows nothing.
    pub repeated: u32,
    /// The server's feedback.
    pub feedback: Feedback,
    /// The server's packets with data, by the codepoint that they arrived with.
    pub arrived: Codepoints,
}

/// How a server feeds back marks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Echo {
    /// ACE counts the marked packets.
    Counts,
    /// ACE counts another number: the server is wrong, or the path marks or erases.
    Miscounts,
    /// ACE begins with zero, which no counter does: something on the path clears the flags (RFC 9768 section
    /// 3.2.2.4).
    Zeroed,
    /// ECE, as RFC 3168 has it.
    Echoes,
    /// No ECE: the server is wrong, or the path erases marks.
    Silent,
}

impl Trial {
    /// Whether the server agreed on a form of ECN.
    pub(crate) fn is_capable(&self) -> bool {
        !matches!(self.negotiation.answer, Answer::None | Answer::Reflected)
    }

    /// How the server feeds back the marks of this connection.
    pub(crate) fn echo(&self) -> Option<Echo> {
        let feedback = &self.feedback;
        if feedback.ace_first == Some(0) {
            return Some(Echo::Zeroed);
        }
        let marked = self.sent.ce > 0;
        match self.negotiation.mode() {
            Mode::Accurate if marked => match self.counted()? {
                counted if counted == self.sent.ce => Some(Echo::Counts),
                counted if counted < self.sent.ce && self.repeated > 0 => None,
                _ => Some(Echo::Miscounts),
            },
            Mode::Classic if feedback.echoes > 0 => Some(Echo::Echoes),
            Mode::Classic if marked && self.repeated == 0 => Some(Echo::Silent),
            _ => None,
        }
    }

    /// Marks that the server has counted on the probe's packets, modulo 8; AccECN only.
    pub fn counted(&self) -> Option<u32> {
        let begin = Counters::new().send_ace();
        self.feedback.ace_last.map(|ace| u32::from(ace.wrapping_sub(begin) & 0b111))
    }
}
