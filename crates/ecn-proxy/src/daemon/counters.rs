//! The counters as JSON for `stats` and for metrics: those at zero of reasons are left out.

use crate::datapath::{Counters, REASONS};
use std::collections::BTreeMap;

/// All counters by name, but those by reason.
pub(super) fn by_name(counters: &Counters) -> BTreeMap<String, u64> {
    counters.named().into_iter().map(|(name, count, _)| (name.to_owned(), count)).collect()
}

/// Nonzero counts by reason: connections not served, marks not answered, ECT withheld.
pub(super) fn by_reason(counters: &Counters) -> BTreeMap<String, BTreeMap<String, u64>> {
    let named = |counts: &[u64]| {
        let counts = REASONS.iter().zip(counts).filter(|(_, count)| **count > 0);
        counts.map(|((reason, _), count)| ((*reason).to_owned(), *count)).collect()
    };
    BTreeMap::from([
        ("bypassed".to_owned(), named(&counters.bypassed_by_reason)),
        ("passed_over".to_owned(), named(&counters.passed_over_by_reason)),
        ("ect_withdrawn".to_owned(), named(&counters.withdrawn_by_reason)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/reference/ecn-proxy.md");

    fn section(title: &str) -> &str {
        let begin = format!("\n### {title}\n");
        let rest = PAGE.split(&begin).nth(1).unwrap_or_else(|| panic!("no section {title}"));
        rest.split("\n##").next().unwrap_or(rest)
    }

    #[test]
    fn every_counter_has_its_sentence_in_the_page() {
        let named = Counters::default().named();
        let rows: Vec<String> =
            named.iter().map(|(name, _, sentence)| format!("| `{name}` | {sentence} |")).collect();
        let page: Vec<&str> =
            section("All counters").lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(page, rows, "the page should have\n{}\n", rows.join("\n"));
        for (name, _, sentence) in named {
            assert!(sentence.ends_with('.') && !sentence.contains(". "), "{name}: {sentence}");
        }
    }

    #[test]
    fn every_reason_has_its_row_in_the_page() {
        let row = |(reason, meaning): &(&str, &str)| format!("| `{reason}` | {meaning} |");
        let rows: Vec<String> = REASONS[1..].iter().map(row).collect();
        let page: Vec<&str> =
            section("Reasons").lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(page, rows, "the page should have\n{}\n", rows.join("\n"));
    }

    #[test]
    fn reasons_that_did_not_come_up_are_left_out() {
        let mut bypassed_by_reason = vec![0; REASONS.len()];
        bypassed_by_reason[5] = 3;
        let counters = Counters { bypassed_by_reason, ..Counters::default() };
        let by_reason = by_reason(&counters);
        assert_eq!(by_reason["bypassed"], BTreeMap::from([("md5".to_owned(), 3)]));
        assert_eq!(by_reason["passed_over"], BTreeMap::new());
    }
}
