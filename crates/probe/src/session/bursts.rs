//! The outcome of a session that measured bursts, for JSON and for tables.

use super::outcome::{Failure, Outcome};
use crate::topic::burst::BurstVerdict;
use crate::topic::{Report, SynAck};
use serde::Serialize;
use std::ops::Not;

/// The version of the format of [`BurstOutcome`] as JSON.
const SCHEMA_VERSION: u32 = 1;

/// The outcome of a session that measured bursts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstOutcome {
    /// The version of this kind of document; 1.
    pub schema: u32,
    /// The kind of document: `probe.burst`.
    pub kind: &'static str,
    /// As the user named it.
    pub target: String,
    /// The measured URL, after redirects.
    pub url: Option<String>,
    /// The server's address, as text.
    pub address: Option<String>,
    /// The Server header of its answer.
    pub server: Option<String>,
    /// The fields of its SYN-ACK.
    pub syn_ack: Option<SynAck>,
    /// The sizes, what the largest of them costs, and remarks.
    #[serde(flatten)]
    pub verdict: BurstVerdict,
    /// The reason why no run was measured.
    pub failure: Option<Failure>,
    /// It was ended early, and there may be more to learn.
    #[serde(skip_serializing_if = "Not::not")]
    pub interrupted: bool,
    /// Every run.
    pub runs: Vec<Report>,
}

/// Judges the runs of a session that was to measure these sizes.
pub(super) fn make(outcome: Outcome, sizes: &[u16], note: Option<&String>) -> BurstOutcome {
    let unscaled = outcome.syn_ack.is_some_and(|syn_ack| syn_ack.window_scale.is_none());
    let mut verdict = BurstVerdict::of(&outcome.runs, sizes, unscaled);
    verdict.notes.splice(0..0, note.cloned());
    BurstOutcome {
        schema: SCHEMA_VERSION,
        kind: "probe.burst",
        verdict,
        target: outcome.target,
        url: outcome.url,
        address: outcome.address,
        server: outcome.server,
        syn_ack: outcome.syn_ack,
        failure: outcome.failure,
        interrupted: outcome.interrupted,
        runs: outcome.runs,
    }
}
