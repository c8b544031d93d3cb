//! The suites: one for each document.

pub mod bbr;
pub mod known;
pub mod prague;
pub mod rate_limited;
pub mod rfc3168;
pub mod rfc5681;
pub mod rfc6582;
pub mod rfc6675;
pub mod rfc8257;
pub mod rfc8511;
pub mod rfc8985;
pub mod rfc9406;
pub mod rfc9438;
pub mod rfc9768;
pub mod rfc9937;
#[cfg(test)]
mod subjects;
mod transport;

use crate::case::{Case, Clause};
use crate::subject::Subject;
use windlass_base::suggest::did_you_mean;

/// The cases of one document.
#[derive(Debug)]
pub struct Suite {
    /// Its name on the command line: `rfc5681`, `bbr`.
    pub name: &'static str,
    /// The subject of its document, for a title.
    pub title: &'static str,
    /// Its cases.
    pub cases: &'static [Case],
    /// The clauses of its document, as TOML ([`report::clauses`](crate::report::clauses)).
    pub coverage: &'static str,
}

/// Every suite.
pub const SUITES: &[&Suite] = &[
    &bbr::SUITE,
    &prague::SUITE,
    &rate_limited::SUITE,
    &rfc3168::SUITE,
    &rfc5681::SUITE,
    &rfc6582::SUITE,
    &rfc6675::SUITE,
    &rfc8257::SUITE,
    &rfc8511::SUITE,
    &rfc8985::SUITE,
    &rfc9406::SUITE,
    &rfc9438::SUITE,
    &rfc9768::SUITE,
    &rfc9937::SUITE,
];

/// The suite of that name.
pub fn by_name(name: &str) -> Option<&'static Suite> {
    SUITES.iter().copied().find(|suite| suite.name == name)
}

/// The suite of that name, given by a user.
///
/// # Errors
///
/// No suite has the name: the names that there are, and the likeliest of them.
pub fn parse(name: &str) -> Result<&'static Suite, String> {
    by_name(name).ok_or_else(|| {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        format!("expected one of {}{}", names.join(", "), did_you_mean(name, &names))
    })
}

impl Suite {
    /// The document of most of its cases. The others are of documents that it needs.
    pub fn document(&self) -> &'static str {
        let documents = self.cases.iter().rev().map(|case| case.clause.document);
        let count = |document| documents.clone().filter(|other| *other == document).count();
        // Of several, the first.
        documents.clone().max_by_key(|document| count(*document)).unwrap_or_default()
    }

    /// The section of a case's clause, with the document if it is another one than the suite's.
    pub fn section(&self, case: &Case) -> String {
        match case.clause {
            Clause { document, section, .. } if document == self.document() => section.to_owned(),
            Clause { document, section, .. } => format!("{document} {section}"),
        }
    }

    /// Its cases that concern a subject.
    pub fn concerning(&self, subject: &dyn Subject) -> impl Iterator<Item = &'static Case> {
        let controller = subject.controller();
        self.cases.iter().filter(move |case| case.concerns.includes(&controller))
    }
}

/// A suite, and a test of each of its cases with each subject that must pass it.
///
/// `suite!(NAME, TITLE, COVERAGE, [SUBJECT, ..], { test_name: CASE, .. })`, where COVERAGE is the text of the folder's
/// `coverage.toml`, and a subject is the expression of an [`Engine`](crate::Engine). The name of a test is that of its case, with underscores.
macro_rules! suite {
    ($name:literal, $title:literal, $coverage:expr, $subjects:expr, { $($test:ident: $case:expr,)+ }) => {
        /// The cases.
        pub const SUITE: $crate::suites::Suite = $crate::suites::Suite {
            name: $name,
            title: $title,
            cases: &[$($case),+],
            coverage: $coverage,
        };

        #[cfg(test)]
        mod each {
            #[allow(unused_imports, reason = "a suite may be of constants of its own module alone")]
            use super::*;

            $(
                #[test]
                fn $test() {
                    let case = &$case;
                    assert_eq!(case.name, stringify!($test).replace('_', "-"));
                    for subject in $subjects {
                        $crate::suites::tests::must_pass(case, &subject);
                    }
                }
            )+
        }
    };
}
pub(crate) use suite;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use std::collections::BTreeSet;

    /// Panics unless the subject passes, if the case concerns it.
    pub(crate) fn must_pass(case: &Case, subject: &dyn Subject) {
        if !case.concerns.includes(&subject.controller()) {
            return;
        }
        let judgement = case.judge(subject);
        if let Some(why) = known::of_the_engine(case.name, &subject.controller()) {
            let fails = matches!(judgement.outcome, Outcome::Failed(_));
            assert!(fails, "{} with {} passes, known as: {why}", case.name, subject.name());
        } else if judgement.outcome != Outcome::Passed {
            let reason = judgement.outcome.reason().unwrap_or_default();
            panic!("{} with {}: {reason}; demanded: {}", case.name, subject.name(), case.demanded);
        }
    }

    #[test]
    fn a_section_of_another_document_has_its_name() {
        let suite = by_name("rfc5681").expect("a suite");
        assert_eq!(suite.document(), "RFC 5681");
        let timer = suite.cases.iter().find(|case| case.clause.document == "RFC 6298");
        let timer = timer.expect("a case of the timer");
        assert_eq!(suite.section(timer), format!("RFC 6298 {}", timer.clause.section));
    }

    #[test]
    fn each_case_has_a_name_of_its_own_and_a_clause() {
        let mut names = BTreeSet::new();
        for suite in SUITES {
            for case in suite.cases {
                assert!(
                    names.insert((suite.name, case.name)),
                    "{}: {} twice",
                    suite.name,
                    case.name
                );
                assert!(
                    !case.clause.section.is_empty() && !case.demanded.is_empty(),
                    "{}",
                    case.name
                );
            }
        }
    }
}
