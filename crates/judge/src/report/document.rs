//! The report as JSON: the same for the same subject and cases, whatever machine judges.

use super::{Chosen, Covered, Examined, Report, clauses, faults};
use crate::bed::Check;
use crate::case::Case;
use crate::suites::Suite;
use serde_json::{Value, json};

impl Report {
    /// The report as an object.
    ///
    /// # Errors
    ///
    /// The table of clauses of a suite cannot be read.
    pub fn document(&self) -> Result<Value, String> {
        let counts = self.counts();
        let suites = self.suites().map(|(suite, examined)| self.suite(suite, examined));
        Ok(json!({
            "subject": self.subject,
            "profile": self.profile,
            "passed": counts.passed,
            "failed": counts.failed,
            "not_observable": counts.not_observable,
            "suites": suites.collect::<Result<Vec<_>, _>>()?,
        }))
    }

    fn suite(&self, suite: &Suite, examined: &[Examined]) -> Result<Value, String> {
        let cases = examined.iter().map(|one| {
            let mut value = described(suite, one.case);
            value["outcome"] = one.outcome.name().into();
            value["reason"] = one.outcome.reason().into();
            value["explained"] = one.explained.into();
            value["checks"] = one.checks.iter().map(check).collect();
            value["replay"] = self.replay(one).into();
            value
        });
        let clauses = clauses(suite)?;
        let clauses = clauses.iter().map(|clause| {
            let mut value = covered(clause);
            value["outcome"] = clause.outcome(examined).into();
            value
        });
        Ok(json!({
            "suite": suite.name,
            "title": suite.title,
            "cases": cases.collect::<Vec<_>>(),
            "clauses": clauses.collect::<Vec<_>>(),
        }))
    }
}

/// The cases without outcomes, as an object.
pub fn list_document(cases: &[Chosen]) -> Value {
    let suites = cases.chunk_by(|one, next| one.suite.name == next.suite.name);
    let suites = suites.map(|cases| {
        let suite = cases[0].suite;
        let cases: Vec<Value> = cases.iter().map(|one| described(suite, one.case)).collect();
        json!({ "suite": suite.name, "title": suite.title, "cases": cases })
    });
    json!({ "suites": suites.collect::<Vec<_>>() })
}

/// The clauses of these suites and the cases that judge them, as an object.
///
/// # Errors
///
/// The table of clauses of a suite cannot be read.
pub fn clauses_document(suites: &[&'static Suite]) -> Result<Value, String> {
    let suites = suites.iter().map(|suite| {
        let clauses: Vec<Value> = clauses(suite)?.iter().map(covered).collect();
        Ok(json!({ "suite": suite.name, "title": suite.title, "clauses": clauses }))
    });
    Ok(json!({ "suites": suites.collect::<Result<Vec<_>, String>>()? }))
}

fn described(suite: &Suite, case: &Case) -> Value {
    json!({
        "case": case.name,
        "document": case.clause.document,
        "section": case.clause.section,
        "level": case.clause.level.name(),
        "demanded": case.demanded,
        "tolerance": case.tolerance,
        "faults": faults(suite, case),
    })
}

fn covered(clause: &Covered) -> Value {
    json!({
        "section": clause.section,
        "level": clause.level,
        "demand": clause.demand,
        "cases": clause.cases,
        "why_not": clause.why_not,
    })
}

fn check(check: &Check) -> Value {
    json!({
        "at_s": check.seconds(),
        "what": check.what,
        "seen": check.seen,
        "expected": [check.expected.start(), check.expected.end()],
        "holds": check.holds(),
    })
}
