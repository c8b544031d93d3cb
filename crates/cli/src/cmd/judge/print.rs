//! The tables of `windlass judge`.

use crate::stdout;
use std::collections::BTreeMap;
use windlass_judge::Outcome;
use windlass_judge::report::{self, Chosen, Counts, Covered, Examined, Report};
use windlass_judge::suites::Suite;

/// Each suite's cases, then why some failed or could not be seen, then the sum.
pub(super) fn text(report: &Report) -> String {
    let mut parts: Vec<String> =
        report.suites().map(|(suite, cases)| judged(suite, cases)).collect();
    parts.extend(report.failures().map(|one| failure(report, one)));
    parts.extend(unseen(report));
    parts.push(sum(report));
    parts.join("\n\n")
}

fn judged(suite: &Suite, cases: &[Examined]) -> String {
    let rows = cases.iter().map(|one| {
        let clause = one.case.clause;
        let outcome = match one.outcome {
            Outcome::Failed(_) => "FAILED",
            _ => one.outcome.name(),
        };
        [clause.section, clause.level.name(), one.case.name, outcome].map(str::to_owned).to_vec()
    });
    titled(suite, stdout::wrapped(&["section", "level", "case", "outcome"], rows))
}

fn titled(suite: &Suite, table: String) -> String {
    let document = suite.cases.first().map_or("", |case| case.clause.document);
    format!("{}: {} ({document})\n{table}", suite.name, suite.title)
}

fn failure(report: &Report, one: &Examined) -> String {
    let purpose = one.explained.map_or(String::new(), |why| format!("\n  on purpose: {why}"));
    format!(
        "FAILED: {} by {}\n  demanded: {}\n  seen:     {}{purpose}\n  replay:   {}",
        one.case.name,
        one.case.clause,
        one.case.demanded,
        one.outcome.reason().unwrap_or_default(),
        report.replay(one)
    )
}

/// The reasons for which cases cannot be seen, each with its number of cases.
fn unseen(report: &Report) -> Option<String> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &report.examined {
        if let Outcome::NotObservable(reason) = &one.outcome {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let lines = reasons.iter().map(|(reason, count)| format!("not observable: {reason} ({count})"));
    (!reasons.is_empty()).then(|| lines.collect::<Vec<_>>().join("\n"))
}

fn sum(report: &Report) -> String {
    let Counts { passed, failed, not_observable } = report.counts();
    let all = report.examined.len();
    let name = &report.subject;
    format!(
        "{name}: {all} cases: {passed} passed, {failed} failed, {not_observable} not observable"
    )
}

/// The cases and what they demand.
pub(super) fn list(cases: &[Chosen]) -> String {
    let suites = cases.chunk_by(|one, next| one.suite.name == next.suite.name);
    let tables = suites.map(|cases| {
        let rows = cases.iter().map(|one| {
            let (case, clause) = (one.case, one.case.clause);
            let mark = report::mark(one.suite, case).unwrap_or_default();
            [clause.section, clause.level.name(), case.name, case.demanded, mark]
                .map(str::to_owned)
                .to_vec()
        });
        let table = stdout::wrapped(&["section", "level", "case", "demanded", ""], rows);
        titled(cases[0].suite, table)
    });
    tables.collect::<Vec<_>>().join("\n\n")
}

/// The clauses, and the cases that judge them or why none does.
pub(super) fn coverage(suites: &[&'static Suite]) -> Result<String, String> {
    let tables = suites.iter().map(|suite| {
        let clauses = report::clauses(suite)?;
        let count = clauses.iter().filter(|clause| !clause.cases.is_empty()).count();
        let rows = clauses.iter().map(clause);
        let header = ["section", "level", "demand", "cases, or why none"];
        let table = titled(suite, stdout::wrapped(&header, rows));
        Ok(format!("{table}\n{count} of {} clauses have a case", clauses.len()))
    });
    Ok(tables.collect::<Result<Vec<_>, String>>()?.join("\n\n"))
}

fn clause(clause: &Covered) -> Vec<String> {
    let judged = match &clause.why_not {
        Some(why) => format!("none: {why}"),
        None => clause.cases.join(", "),
    };
    vec![clause.section.clone(), clause.level.clone(), clause.demand.clone(), judged]
}
