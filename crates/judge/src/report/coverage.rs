//! The clauses of a document, with the cases that judge them.

use super::Examined;
use crate::case::Outcome;
use crate::suites::Suite;
use serde::{Deserialize, Serialize};

/// A clause that concerns a sender, as the suite's `coverage.toml` has it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Covered {
    /// `3.2`, or the title of a section.
    pub section: String,
    /// `MUST`, `MUST NOT`, `SHOULD`, `SHOULD NOT`, `rule`.
    pub level: String,
    /// The demand, in a sentence.
    pub demand: String,
    /// The cases that judge it.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Why no case judges it.
    #[serde(default)]
    pub why_not: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    clause: Vec<Covered>,
}

/// The clauses of a suite's document, in its order.
///
/// # Errors
///
/// The table of the suite cannot be read.
pub fn clauses(suite: &Suite) -> Result<Vec<Covered>, String> {
    let file = toml::from_str::<File>(suite.coverage);
    file.map(|file| file.clause).map_err(|error| format!("{}: coverage: {error}", suite.name))
}

impl Covered {
    /// The outcome of the clause: the worst of its cases. `None` if none of them was judged.
    pub fn outcome(&self, examined: &[Examined]) -> Option<&'static str> {
        let rank = |outcome: &Outcome| match outcome {
            Outcome::Passed => 0,
            Outcome::NotObservable(_) => 1,
            Outcome::Failed(_) => 2,
        };
        let own = examined.iter().filter(|one| self.cases.iter().any(|name| name == one.case.name));
        own.map(|one| &one.outcome).max_by_key(|outcome| rank(outcome)).map(Outcome::name)
    }
}
