//! The counters by name, flat, whatever way the packet path keeps them.

use crate::datapath::Counters;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The page that says what each counts.
const PAGE: &str = include_str!("../../../../docs/ecn-proxy.md");

/// Each counter of the page with its sentence, in the order of the page.
pub fn sentences() -> impl Iterator<Item = (&'static str, &'static str)> {
    let table = PAGE.split("\n## Counters\n").nth(1).unwrap_or_default();
    let table = table.split("\n## ").next().unwrap_or_default();
    table.lines().filter_map(|line| {
        let (name, sentence) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name, sentence.strip_suffix(" |")?))
    })
}

/// All counters by name. Those of an inner group have the group's name before their own.
pub(super) fn by_name(counters: &Counters) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    flatten("", &json!(counters), &mut found);
    found
}

fn flatten(name: &str, value: &Value, into: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                let separator = if name.is_empty() { "" } else { "_" };
                flatten(&format!("{name}{separator}{key}"), value, into);
            }
        }
        Value::Number(number) => {
            into.extend(number.as_u64().map(|number| (name.to_owned(), number)));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_one_sentence_in_the_page_and_no_sentence_is_without_its_counter() {
        let counters = by_name(&Counters::default());
        let told: Vec<&str> = sentences().map(|(name, _)| name).collect();
        for name in counters.keys() {
            let times = told.iter().filter(|told| *told == name).count();
            assert_eq!(times, 1, "docs/ecn-proxy.md, ## Counters: a row `{name}`");
        }
        for (name, sentence) in sentences() {
            assert!(counters.contains_key(name), "docs/ecn-proxy.md tells of {name}: no counter");
            assert!(sentence.ends_with('.') && !sentence.contains(". "), "{name}: {sentence}");
        }
    }
}
