//! The report as the XML of JUnit, which CI systems show.

use super::{Examined, Report};
use crate::case::Outcome;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

impl Report {
    /// The report as JUnit's XML. Cases that cannot be seen are skipped tests.
    ///
    /// # Errors
    ///
    /// The report cannot be written as XML.
    pub fn junit(&self) -> Result<String, String> {
        let mut report = quick_junit::Report::new(format!("windlass judge: {}", self.subject));
        for (suite, examined) in self.suites() {
            let mut tests = TestSuite::new(suite.name);
            tests.add_test_cases(examined.iter().map(|one| self.test_case(one)));
            report.add_test_suite(tests);
        }
        report.to_string().map_err(|error| error.to_string())
    }

    fn test_case(&self, one: &Examined) -> TestCase {
        let clause = one.case.clause;
        let mut status = match one.outcome {
            Outcome::Passed => TestCaseStatus::success(),
            Outcome::Failed(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Outcome::NotObservable(_) => TestCaseStatus::skipped(),
        };
        if let Some(reason) = one.outcome.reason() {
            status.set_message(reason);
        }
        if let Outcome::Failed(_) = one.outcome {
            status.set_type(clause.to_string());
            let replay = self.replay(one);
            let mut text = format!("Demanded: {}.\nReplay: {replay}", one.case.demanded);
            if let Some(why) = one.explained {
                text += &format!("\nOn purpose: {why}.");
            }
            status.set_description(text);
        }
        let mut test = TestCase::new(one.case.name, status);
        test.set_classname(format!("{}.{}", self.subject, one.suite.name));
        test
    }
}
