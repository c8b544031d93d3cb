//! The report as the XML of JUnit, which CI systems show.

use super::{Played, Report, divergence};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

impl Report {
    /// The report as JUnit's XML. A script that is none is an error.
    ///
    /// # Errors
    ///
    /// The report cannot be written as XML.
    pub fn junit(&self) -> Result<String, String> {
        let mut report = quick_junit::Report::new(format!("windlass drill: {}", self.subject));
        let mut tests = TestSuite::new(self.subject.as_str());
        tests.add_test_cases(self.scripts.iter().map(|played| self.test_case(played)));
        report.add_test_suite(tests);
        report.to_string().map_err(|error| error.to_string())
    }

    fn test_case(&self, played: &Played) -> TestCase {
        let mut status = match played.verdict() {
            "passed" => TestCaseStatus::success(),
            "failed" => TestCaseStatus::non_success(NonSuccessKind::Failure),
            "skipped" => TestCaseStatus::skipped(),
            _ => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        if let Some(reason) = played.reason() {
            status.set_message(reason);
        }
        if let Some(diff) = divergence(played) {
            status.set_description(format!("{}\n{diff}", played.place()));
        } else if played.run.is_err() {
            status.set_description(played.place());
        }
        let mut test = TestCase::new(played.name.as_str(), status);
        test.set_classname(self.subject.as_str());
        if let Ok(run) = &played.run {
            test.set_time(Duration::from_nanos(run.elapsed.as_nanos()));
        }
        test
    }
}
