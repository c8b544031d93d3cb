//! Runs a script against a subject, by the rules of packetdrill.

mod calls;
mod commands;
mod compare;
mod connection;
mod due;
mod events;
mod inbound;
mod outbound;
mod outcome;
mod pending;
mod runner;

pub(crate) use calls::check;
pub use outcome::{Captured, Divergence, Entry, Line, Run, Side, Verdict};

use crate::Plan;
use crate::subject::Subject;
use runner::Runner;

/// Runs a script.
pub fn run(plan: &Plan, subject: &dyn Subject) -> Run {
    match subject.start(&plan.settings.setup) {
        Ok(host) => Runner::new(plan, host).run(),
        Err(reason) => Run::skipped(reason.0),
    }
}
