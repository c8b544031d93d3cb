//! Cases judged in parallel, and the report of their outcomes.

mod choice;
mod coverage;
mod document;
mod examine;
mod junit;
mod page;
mod qlog;
mod series;
mod teeth;

pub use choice::{Chosen, choose};
pub use coverage::{Covered, clauses};
pub use document::{clauses_document, list_document};
pub use examine::{Examined, Keep, examine};
pub use series::Series;
pub use teeth::{faults, mark};

use crate::case::Outcome;
use crate::suites::Suite;

/// The judgement of a subject.
#[derive(Debug)]
pub struct Report {
    /// The subject, as `cubic`.
    pub subject: String,
    /// The options that the subject has, as `linux`; `None` where they are its own.
    pub profile: Option<String>,
    /// The command that judges the subject, without suites and cases.
    pub command: String,
    /// The cases, those of a suite together.
    pub examined: Vec<Examined>,
}

/// Cases by outcome.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that cannot be seen.
    pub not_observable: usize,
}

impl Report {
    /// Its cases by outcome.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for one in &self.examined {
            match one.outcome {
                Outcome::Passed => counts.passed += 1,
                Outcome::Failed(_) => counts.failed += 1,
                Outcome::NotObservable(_) => counts.not_observable += 1,
            }
        }
        counts
    }

    /// Each suite with its cases.
    pub fn suites(&self) -> impl Iterator<Item = (&'static Suite, &[Examined])> {
        let suites = self.examined.chunk_by(|one, next| one.suite.name == next.suite.name);
        suites.filter_map(|cases| cases.first().map(|first| (first.suite, cases)))
    }

    /// The cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Examined> {
        self.examined.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_)))
    }

    /// The command that judges the subject by one case alone.
    pub fn replay(&self, one: &Examined) -> String {
        format!("{} --suite {} --case {}", self.command, one.suite.name, one.case.name)
    }
}

#[cfg(test)]
mod tests;
