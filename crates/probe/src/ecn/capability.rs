//! The ECN capability of a server, from all connections that asked.

use super::{Answer, Ask, Codepoints, Mode, Negotiation, Receiver, Trial, name};
use crate::probe::Report;
use serde::Serialize;
use std::fmt;
use windlass_base::Ecn;

/// A server's ECN.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capability {
    /// The answer to the SYN for AccECN, or to that for classic ECN if the first agreed on nothing; `None` if no
    /// SYN was answered.
    pub answer: Option<Answer>,
    /// The feedback that this answer agrees on.
    pub mode: Mode,
    /// How the server feeds back marks on the probe's packets; `None` if it got none, or if they may be lost.
    pub feedback: Option<Echo>,
    /// The connections, in their order: one that asked for AccECN and, if that agreed on no ECN, one that
    /// asked for classic ECN.
    pub runs: Vec<Report>,
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

impl Echo {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Echo::Counts => "counts",
            Echo::Miscounts => "miscounts",
            Echo::Zeroed => "zeroed",
            Echo::Echoes => "echoes",
            Echo::Silent => "silent",
        }
    }
}

impl Capability {
    /// Judges these connections; `None` without any.
    pub(crate) fn of(runs: &[Report]) -> Option<Capability> {
        let trial = best(runs);
        (!runs.is_empty()).then(|| Capability {
            answer: trial.map(|trial| trial.negotiation.answer),
            mode: trial.map_or(Mode::None, |trial| trial.negotiation.mode()),
            feedback: trial.and_then(Trial::echo),
            runs: runs.to_vec(),
        })
    }

    /// The next request for ECN; `None` if the server's ECN is known.
    pub(crate) fn next_ask(runs: &[Report]) -> Option<Ask> {
        match runs {
            [] => Some(Ask::Accurate),
            [first] if !first.ecn.as_ref().is_some_and(Trial::is_capable) => Some(Ask::Classic),
            _ => None,
        }
    }

    /// The answer's name in tables.
    pub fn answer_name(&self) -> &'static str {
        self.answer.map_or("unknown", Answer::name)
    }

    /// The connection on which the verdict rests.
    pub fn trial(&self) -> Option<&Trial> {
        best(&self.runs)
    }
}

/// The first connection that agreed on ECN, or else the first one whose SYN was answered.
fn best(runs: &[Report]) -> Option<&Trial> {
    let trials = || runs.iter().filter_map(|report| report.ecn.as_ref());
    trials().find(|trial| trial.is_capable()).or(trials().next())
}

impl Trial {
    /// How the server feeds back the marks of this connection.
    pub fn echo(&self) -> Option<Echo> {
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
        let begin = Receiver::after_syn_ack(Ecn::NotEct).ace();
        self.feedback.ace_last.map(|ace| u32::from(ace.wrapping_sub(begin) & 0b111))
    }
}

impl Codepoints {
    /// The codepoint of most packets, as tables name it; empty without packets.
    pub fn most(&self) -> &'static str {
        let counts = [
            (self.not_ect, Ecn::NotEct),
            (self.ect_0, Ecn::Ect0),
            (self.ect_1, Ecn::Ect1),
            (self.ce, Ecn::Ce),
        ];
        let most = counts.into_iter().max_by_key(|(count, _)| *count);
        most.filter(|(count, _)| *count > 0).map_or("", |(_, codepoint)| name(codepoint))
    }
}

impl fmt::Display for Codepoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.not_ect, Ecn::NotEct),
            (self.ect_0, Ecn::Ect0),
            (self.ect_1, Ecn::Ect1),
            (self.ce, Ecn::Ce),
        ];
        let present = counts.into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> =
            present.map(|(count, codepoint)| format!("{count} {}", name(codepoint))).collect();
        f.write_str(if words.is_empty() { "none" } else { "" })?;
        f.write_str(&words.join(", "))
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(trial) = self.trial() else {
            let ending = self.runs.last().map(|report| report.ending.to_string());
            return write!(f, "unknown: {}", ending.unwrap_or_default());
        };
        write!(f, "{}", trial.negotiation.answer)?;
        handshake(&trial.negotiation, f)?;
        match (self.feedback, trial.counted()) {
            (Some(Echo::Counts | Echo::Miscounts), Some(counted)) => {
                write!(f, "; it counts {counted} of {} marked packets", trial.sent.ce)?;
            }
            (Some(Echo::Zeroed), _) => {
                f.write_str("; its counter begins with 0: something clears it")?
            }
            (Some(Echo::Echoes), _) => f.write_str("; it echoes marks")?,
            (Some(Echo::Silent), _) => f.write_str("; it does not echo marks")?,
            _ => {}
        }
        write!(f, "; its data packets: {}", trial.arrived)
    }
}

fn handshake(negotiation: &Negotiation, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if negotiation.ask == Ask::Classic {
        f.write_str(" (AccECN was asked for before, in vain)")?;
    }
    if let Some(arrived) = negotiation.syn_arrived.filter(|_| negotiation.is_mangled()) {
        write!(f, "; the SYN, sent as not-ect, arrived as {}", name(arrived))?;
    }
    if negotiation.fell_back() {
        f.write_str("; SYNs that ask got no answer")?;
    }
    write!(f, "; its SYN-ACK: {}", name(negotiation.syn_ack))
}
