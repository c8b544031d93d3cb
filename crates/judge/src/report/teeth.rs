//! Which deliberate faults in the code fail a case: whether the case can fail at all.

use crate::case::Case;
use crate::suites::Suite;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// For each suite, its cases with the names of the faults that fail them.
type Teeth = BTreeMap<String, BTreeMap<String, Vec<String>>>;

static TEETH: LazyLock<Teeth> = LazyLock::new(|| {
    // A test reads it too: a mistake does not leave the repository.
    toml::from_str(include_str!("../teeth.toml")).unwrap_or_default()
});

/// The names of the deliberate faults that fail a case; `None` if none was tried since the case was written.
pub fn faults(suite: &Suite, case: &Case) -> Option<&'static [String]> {
    TEETH.get(suite.name)?.get(case.name).map(Vec::as_slice)
}

/// The mark of a case that no fault fails.
pub fn mark(suite: &Suite, case: &Case) -> Option<&'static str> {
    faults(suite, case).filter(|faults| faults.is_empty()).map(|_| "no fault fails it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites;

    /// A suite of which the list knows nothing has not been tried yet.
    #[test]
    fn the_list_names_cases_that_there_are() {
        let text = include_str!("../teeth.toml");
        let teeth: Teeth = toml::from_str(text).expect("a list");
        for (name, cases) in &teeth {
            let suite = suites::by_name(name).unwrap_or_else(|| panic!("no suite {name}"));
            for case in cases.keys() {
                assert!(suite.cases.iter().any(|known| known.name == case), "{name}: {case}");
            }
        }
    }
}
