//! Whether a session has seen enough.

use super::{Found, Runs, Session};
use crate::topic::Ending;
use crate::topic::split::classify;

/// Rounds without which no answer is certain.
const ROUNDS_MIN: usize = 2;

impl Session {
    /// Whether more rounds would only repeat the answer. That is so after at least two whole rounds if every run
    /// was measured, the reaction is decided and all runs that can tell fit it, and all first flights are equal.
    pub(super) fn is_certain(&self) -> bool {
        let Runs::UntilCertain { .. } = self.settings.runs else { return false };
        let (tests, reports) = (self.settings.tests.len(), &self.reports);
        let is_test = self.settings.bursts.is_empty() && self.settings.controllers.is_none();
        let rounds_are_whole = tests > 0 && reports.len().is_multiple_of(tests);
        if !is_test || !rounds_are_whole || reports.len() < ROUNDS_MIN * tests {
            return false;
        }
        let verdict = classify(reports, self.found.as_ref().is_some_and(Found::is_secured));
        let (of, fit) = verdict.runs;
        let window = verdict.initial_window;
        reports.iter().all(|report| report.ending == Ending::Measured)
            && verdict.is_decided()
            && fit == of
            && window.is_some_and(|window| window.spread.0 == window.spread.1)
    }
}
