//! The outcome of a script.

use crate::script::Position;
use windlass_base::{Span, Time};

/// A script that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// How it ended.
    pub verdict: Verdict,
    /// The events that happened, in order, up to the end.
    pub entries: Vec<Entry>,
    /// Packets of the subject that nothing has asked for.
    pub left: Vec<Entry>,
    /// Every packet, as bytes.
    pub packets: Vec<Captured>,
    /// The lines that code printed.
    pub printed: Vec<String>,
    /// How long it took by the subject's clock.
    pub elapsed: Span,
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// All of it happened.
    Passed,
    /// Something else happened.
    Failed(Box<Divergence>),
    /// The subject lacks something; the reason.
    Skipped(String),
}

/// The first place at which a subject does something else than the script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The event.
    pub position: Position,
    /// The difference in one line.
    pub summary: String,
    /// The script's side.
    pub expected: Vec<Line>,
    /// The subject's side.
    pub actual: Vec<Line>,
}

/// A line of a comparison: something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it happens, as text; empty without a time.
    pub at: String,
    /// The event.
    pub text: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, since the first event.
    pub at: Span,
    /// The side that did it.
    pub side: Side,
    /// The event, as a script writes it.
    pub text: String,
}

/// A side of a script.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// The script sent a packet.
    Inbound,
    /// The subject sent a packet.
    Outbound,
    /// The program began a call, or ran commands or code.
    Program,
    /// A call returned.
    Returned,
}

/// A packet as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// When, by the subject's clock.
    pub at: Time,
    /// The subject received it; otherwise it sent it.
    pub inbound: bool,
    /// The IP packet.
    pub bytes: Vec<u8>,
}

impl Run {
    pub(super) fn skipped(reason: String) -> Run {
        Run {
            verdict: Verdict::Skipped(reason),
            entries: Vec::new(),
            left: Vec::new(),
            packets: Vec::new(),
            printed: Vec::new(),
            elapsed: Span::ZERO,
        }
    }
}

impl Verdict {
    /// `passed`, `failed` or `skipped`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Skipped(_) => "skipped",
        }
    }
}
