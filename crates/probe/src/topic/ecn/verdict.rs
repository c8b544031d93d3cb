//! The ECN capability of a server, from all connections that asked.

use super::codepoint::name;
use super::negotiation::{Answer, Ask, Mode, Negotiation};
use super::trial::{Echo, Trial};
use crate::topic::Report;
use serde::Serialize;
use std::fmt;

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
