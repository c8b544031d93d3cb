//! The report as one page of HTML, which needs no other file and no network.

mod numbers;
mod plot;
mod svg;

use super::{Examined, Report, clauses, mark};
use crate::bed::Check;
use crate::case::Outcome;
use crate::suites::Suite;
use minijinja::{Environment, Value, context};
use numbers::number;

const TEMPLATE: &str = include_str!("page.html");
/// Comparisons of a case that its table shows; those that do not hold come first.
const CHECKS_MAX: usize = 40;

impl Report {
    /// The report as HTML: the failures, every case with its plot, the clauses. The cases need their series.
    ///
    /// # Errors
    ///
    /// The table of clauses of a suite cannot be read.
    pub fn page(&self) -> Result<String, String> {
        let suites = self.suites().map(|(suite, examined)| self.suite_value(suite, examined));
        let counts = self.counts();
        let values = context! {
            suites => suites.collect::<Result<Vec<Value>, String>>()?,
            subject => self.subject.clone(),
            profile => self.profile.clone(),
            command => self.command.clone(),
            passed => counts.passed,
            failed => counts.failed,
            not_observable => counts.not_observable,
            failures => self.failures().map(|one| self.case_value(one)).collect::<Vec<_>>(),
        };
        let mut templates = Environment::new();
        let page = templates
            .add_template("page.html", TEMPLATE)
            .and_then(|()| templates.get_template("page.html")?.render(values));
        page.map_err(|error| error.to_string())
    }

    fn suite_value(&self, suite: &Suite, examined: &[Examined]) -> Result<Value, String> {
        let count = |name| examined.iter().filter(|one| one.outcome.name() == name).count();
        let clauses = clauses(suite)?;
        let rows = clauses.into_iter().map(|clause| {
            context! {
                outcome => clause.outcome(examined),
                section => clause.section,
                level => clause.level,
                demand => clause.demand,
                cases => clause.cases,
                why_not => clause.why_not,
            }
        });
        let others = examined.iter().filter(|one| !matches!(one.outcome, Outcome::Failed(_)));
        Ok(context! {
            name => suite.name,
            title => suite.title,
            document => suite.cases.first().map(|case| case.clause.document),
            passed => count("passed"),
            failed => count("failed"),
            not_observable => count("not observable"),
            others => others.map(|one| self.case_value(one)).collect::<Vec<_>>(),
            clauses => rows.collect::<Vec<_>>(),
        })
    }

    fn case_value(&self, one: &Examined) -> Value {
        let case = one.case;
        let drawn = one.series.as_ref().map(|series| plot::drawn(series, &one.checks));
        let mut checks: Vec<&Check> = one.checks.iter().collect();
        checks.sort_by_key(|check| check.holds());
        let left_out = checks.len().saturating_sub(CHECKS_MAX);
        checks.truncate(CHECKS_MAX);
        context! {
            suite => one.suite.name,
            name => case.name,
            clause => case.clause.to_string(),
            demanded => case.demanded,
            outcome => one.outcome.name(),
            reason => one.outcome.reason(),
            explained => one.explained,
            replay => self.replay(one),
            mark => mark(one.suite, case),
            plots => drawn,
            checks => checks.into_iter().map(check_value).collect::<Vec<_>>(),
            left_out => left_out,
        }
    }
}

fn check_value(check: &Check) -> Value {
    context! {
        at => format!("{:.3}", check.seconds()),
        what => check.what,
        seen => number(check.seen),
        least => number(*check.expected.start()),
        most => number(*check.expected.end()),
        holds => check.holds(),
    }
}
