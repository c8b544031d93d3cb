//! Reports on several scripts: as text, JSON, JUnit's XML, and each script's packets as a capture or qlog.

mod capture;
mod document;
mod junit;
mod qlog;
#[cfg(test)]
mod tests;
mod text;

pub use capture::capture;
pub use qlog::qlog;
pub use text::{divergence, line};

use crate::run::{Run, Verdict};
use crate::script::Error;

/// The scripts that a subject was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The subject's name.
    pub subject: String,
    /// The scripts, in order.
    pub scripts: Vec<Played>,
}

/// A script with its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// Its file.
    pub name: String,
    /// The run; an error if it is no script.
    pub run: Result<Run, Error>,
}

/// How many scripts ended how.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of it happened.
    pub passed: usize,
    /// Something else happened.
    pub failed: usize,
    /// The subject lacks something.
    pub skipped: usize,
    /// It is no script.
    pub invalid: usize,
}

impl Played {
    /// `passed`, `failed`, `skipped` or `invalid`.
    pub fn verdict(&self) -> &'static str {
        self.run.as_ref().map_or("invalid", |run| run.verdict.name())
    }

    /// The place of the failure or of the error, as `script.pkt:3:1`; the name alone without one.
    pub fn place(&self) -> String {
        let position = match &self.run {
            Err(error) => Some(error.position),
            Ok(Run { verdict: Verdict::Failed(divergence), .. }) => Some(divergence.position),
            Ok(_) => None,
        };
        position.map_or_else(|| self.name.clone(), |position| format!("{}:{position}", self.name))
    }

    /// Why it did not pass.
    pub fn reason(&self) -> Option<&str> {
        match &self.run {
            Err(error) => Some(&error.message),
            Ok(Run { verdict: Verdict::Failed(divergence), .. }) => Some(&divergence.summary),
            Ok(Run { verdict: Verdict::Skipped(reason), .. }) => Some(reason),
            Ok(Run { verdict: Verdict::Passed, .. }) => None,
        }
    }
}

impl Report {
    /// The sums.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for played in &self.scripts {
            *match played.run.as_ref().map(|run| &run.verdict) {
                Ok(Verdict::Passed) => &mut counts.passed,
                Ok(Verdict::Failed(_)) => &mut counts.failed,
                Ok(Verdict::Skipped(_)) => &mut counts.skipped,
                Err(_) => &mut counts.invalid,
            } += 1;
        }
        counts
    }
}
