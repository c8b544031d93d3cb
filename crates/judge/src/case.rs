//! A case as data, and its judgement of a subject.

use crate::bed::{Bed, Check, Path, Traffic, Wire};
use crate::subject::{Setup, Subject};
pub(crate) use crate::verdict::demand;
pub use crate::verdict::{Fault, Verdict};
use std::fmt;

/// One case: what a clause of a document demands of a sender, and how to see whether it does so.
#[derive(Debug)]
pub struct Case {
    /// A short name with hyphens, unique in its suite.
    pub name: &'static str,
    /// The place of the demand.
    pub clause: Clause,
    /// The subjects that it concerns.
    pub concerns: Concerns,
    /// The options of the connection.
    pub setup: Setup,
    /// The path at the beginning.
    pub path: Path,
    /// The application at the beginning.
    pub traffic: Traffic,
    /// The variables without which nothing can be seen.
    pub observed: &'static [&'static str],
    /// The behaviour that the clause demands, in a sentence.
    pub demanded: &'static str,
    /// The relative error that is allowed.
    pub tolerance: f64,
    /// Drives the path and the application, and looks.
    pub program: fn(&Case, &mut Bed) -> Verdict,
}

/// A place in a document.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// `RFC 5681`, `draft-ietf-ccwg-bbr-06`.
    pub document: &'static str,
    /// `3.2`, or the title of a section.
    pub section: &'static str,
    /// How strongly it demands.
    pub level: Level,
}

impl fmt::Display for Clause {
    /// `RFC 5681 3.2 (MUST)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.document, self.section, self.level.name())
    }
}

/// How strongly a clause demands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Level {
    /// MUST, MUST NOT, REQUIRED.
    Must,
    /// SHOULD, SHOULD NOT, RECOMMENDED.
    Should,
    /// MAY, or a bound on what may be done.
    May,
    /// A rule without such a word: the algorithm as the document describes it.
    Rule,
}

impl Level {
    /// `MUST`, `SHOULD`, `MAY`, `rule`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Must => "MUST",
            Level::Should => "SHOULD",
            Level::May => "MAY",
            Level::Rule => "rule",
        }
    }
}

/// The subjects that a case concerns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Concerns {
    /// Every TCP sender.
    All,
    /// Those with one of these controllers.
    Controllers(&'static [&'static str]),
    /// Those with any other controller.
    Except(&'static [&'static str]),
}

impl Concerns {
    /// Whether it concerns a subject with this controller.
    pub fn includes(self, controller: &str) -> bool {
        match self {
            Concerns::All => true,
            Concerns::Controllers(names) => names.contains(&controller),
            Concerns::Except(names) => !names.contains(&controller),
        }
    }
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The sender does what the clause demands.
    Passed,
    /// It does not; the reason, with the time.
    Failed(String),
    /// It cannot be seen; the reason.
    NotObservable(String),
}

impl Outcome {
    /// `passed`, `failed`, `not observable`.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed(_) => "failed",
            Outcome::NotObservable(_) => "not observable",
        }
    }

    /// Why it did not pass.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Passed => None,
            Outcome::Failed(reason) | Outcome::NotObservable(reason) => Some(reason),
        }
    }
}

/// The outcome of a case, with what was seen.
pub struct Judgement {
    /// The outcome.
    pub outcome: Outcome,
    /// The comparisons, in order of time.
    pub checks: Vec<Check>,
    /// The packets at the sender's end; `None` where no connection was opened.
    pub wire: Option<Wire>,
}

impl fmt::Debug for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judgement").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

impl Case {
    /// The judgement of a subject.
    pub fn judge(&self, subject: &dyn Subject) -> Judgement {
        let mut bed = match Bed::new(subject, self.setup, self.path, self.traffic) {
            Ok(bed) => bed,
            Err(reason) => {
                let outcome = Outcome::NotObservable(reason);
                return Judgement { outcome, checks: Vec::new(), wire: None };
            }
        };
        let unknown = self.observed.iter().find(|name| bed.get(name).is_nan());
        let outcome = match unknown {
            Some(name) => Outcome::NotObservable(format!("the subject has no variable {name}")),
            None => self.run(&mut bed),
        };
        let (checks, wire) = bed.into_records();
        Judgement { outcome, checks, wire: Some(wire) }
    }

    fn run(&self, bed: &mut Bed) -> Outcome {
        match (self.program)(self, bed) {
            Ok(()) => Outcome::Passed,
            Err(Fault::NotObservable(reason)) => Outcome::NotObservable(reason),
            Err(Fault::Failed(reason)) => {
                Outcome::Failed(format!("{reason} (at {:.3} s)", bed.seconds()))
            }
        }
    }

    /// Whether two rates or volumes are equal within the tolerance.
    pub(crate) fn near(&self, found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() <= self.tolerance
    }
}
