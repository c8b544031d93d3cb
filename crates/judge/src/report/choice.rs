//! Which cases a subject is judged by.

use crate::case::Case;
use crate::suites::{SUITES, Suite};
use wildmatch::WildMatch;

/// A case with its suite.
#[derive(Copy, Clone, Debug)]
pub struct Chosen {
    /// The suite.
    pub suite: &'static Suite,
    /// One of its cases.
    pub case: &'static Case,
}

/// The cases of these suites; without suites, those of every suite that concern a controller. `glob` may have
/// `*` and `?` in the place of letters of a case's name.
pub fn choose(
    suites: &[&'static Suite],
    controller: Option<&str>,
    glob: Option<&str>,
) -> Vec<Chosen> {
    let concerns = |case: &Case| {
        !suites.is_empty() || controller.is_none_or(|name| case.concerns.includes(name))
    };
    let glob = WildMatch::new(glob.unwrap_or("*"));
    let from = if suites.is_empty() { SUITES } else { suites };
    let all = from.iter().flat_map(|suite| suite.cases.iter().map(|case| Chosen { suite, case }));
    all.filter(|one| concerns(one.case) && glob.matches(one.case.name)).collect()
}
