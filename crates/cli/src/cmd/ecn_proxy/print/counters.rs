//! Counters and connections for people.

use crate::stdout;
use serde_json::{Value, json};
use std::time::Duration;
use windlass_ecn_proxy::datapath::{Counters, REASONS};

/// The first counter of each topic, in the order of the page that explains them.
const TOPICS: [(&str, &str); 7] = [
    ("packets", "packets"),
    ("flows_added", "table"),
    ("bytes_served", "payload in bytes"),
    ("upgraded", "handshakes"),
    ("marks", "marks for served hosts"),
    ("ect", "marks of served senders"),
    ("losses_avoided", "marks both ways"),
];

/// A row of the table, and what its figure counts.
struct Row {
    cells: Vec<String>,
    meaning: String,
}

impl Row {
    fn title(text: &str) -> Row {
        Row { cells: vec![text.to_owned(), String::new(), String::new()], meaning: String::new() }
    }

    fn figure(name: &str, count: u64, rate: String, meaning: &str) -> Row {
        let cells = vec![format!("  {name}"), count.to_string(), rate];
        Row { cells, meaning: meaning.to_owned() }
    }
}

/// The counters by topic, in the order of the page that explains them; with what was `before`, how
/// many a second came since. `explain` adds what each counts.
pub(in crate::cmd::ecn_proxy) fn stats(
    now: &Value,
    before: Option<&Value>,
    apart: Duration,
    explain: bool,
) -> String {
    let row = |(name, _, meaning): (&str, u64, String)| {
        let count = now["counters"][name].as_u64()?;
        let before = before.and_then(|before| before["counters"][name].as_u64());
        let rate = before.map(|before| count.saturating_sub(before) as f64 / apart.as_secs_f64());
        let rate = rate.map_or(String::new(), |rate| format!("{rate:.0}"));
        Some(Row::figure(name, count, rate, &meaning))
    };
    let mut rows = Vec::new();
    for counter in Counters::default().named() {
        let begins = TOPICS.iter().find(|(first, _)| *first == counter.0);
        rows.extend(begins.map(|(_, topic)| Row::title(topic)));
        rows.extend(row(counter));
    }
    rows.extend(groups(now));
    let header = ["counter", "count", if before.is_some() { "per second" } else { "" }];
    let table = stdout::table(&header, rows.iter().map(|row| row.cells.clone()));
    if explain { beside(&table, &rows) } else { table }
}

/// The table with the meaning of each row to the right: `stdout::table` aligns further columns to the
/// right, where sentences read badly.
fn beside(table: &str, rows: &[Row]) -> String {
    let width = table.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    // Header and separator come first.
    let meanings = ["", ""].into_iter().chain(rows.iter().map(|row| row.meaning.as_str()));
    let line = |(line, meaning): (&str, &str)| format!("{line:<width$}  {meaning}");
    let lines = table.lines().zip(meanings).map(line);
    lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Rows for the counts in groups: by reason, far hosts, connections in the table.
fn groups(now: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    let reasons = ["bypassed", "passed_over", "ect_withdrawn"]
        .map(|what| (format!("{what}, by reason"), now["reasons"][what].clone()));
    let present =
        json!({ "far hosts": now["hosts"], "connections": { "in the table": now["flows"] } });
    let present = present.as_object().cloned().unwrap_or_default().into_iter();
    for (topic, counts) in reasons.into_iter().chain(present) {
        let counts = counts.as_object().into_iter().flatten();
        let row = |(kind, count): (&String, &Value)| {
            let meaning = REASONS.iter().find(|(reason, _)| reason == kind);
            let meaning = meaning.map_or("", |(_, meaning)| *meaning);
            Row::figure(kind, count.as_u64().unwrap_or_default(), String::new(), meaning)
        };
        let counts: Vec<Row> = counts.map(row).collect();
        if !counts.is_empty() {
            rows.push(Row::title(&topic));
            rows.extend(counts);
        }
    }
    rows
}

/// A connection as one line, in the manner of conntrack -L.
pub(in crate::cmd::ecn_proxy) fn flow(flow: &Value) -> String {
    let word = |key: &str| flow[key].as_str().unwrap_or("?");
    let idle_s = flow["idle"].as_f64().unwrap_or_default();
    let mut line = format!(
        "tcp {:<10} host={} far={} idle={idle_s:.1}s",
        word("state"),
        word("host"),
        word("far")
    );
    for (key, value) in flow.as_object().into_iter().flatten() {
        if !["state", "host", "far", "idle"].contains(&key.as_str()) {
            let unit = if key == "age" && value.is_number() { "s" } else { "" };
            line += &format!(" {key}={}{unit}", plain(value));
        }
    }
    line
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.1}", number.as_f64().unwrap_or_default())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_below_their_topic() {
        let named = Counters::default().named();
        let counters = named.iter().map(|(name, ..)| ((*name).to_owned(), json!(7)));
        let now = json!({
            "counters": counters.collect::<serde_json::Map<_, _>>(),
            "reasons": { "bypassed": { "md5": 2 }, "passed_over": {} },
            "hosts": { "capable": 3 }, "flows": 4,
        });
        let shown = stats(&now, None, Duration::from_secs(1), false);
        let at = |text: &str| {
            let found = shown.lines().position(|line| line.trim_start().starts_with(text));
            found.unwrap_or_else(|| panic!("{text} in\n{shown}"))
        };
        for (topic, counter) in [
            ("packets", "tcp"),
            ("table", "flows_added"),
            ("payload in bytes", "bytes_own"),
            ("handshakes", "upgraded"),
            ("marks for served hosts", "echoes"),
            ("marks of served senders", "episodes"),
            ("bypassed, by reason", "md5"),
            ("far hosts", "capable"),
            ("connections", "in the table"),
        ] {
            assert!(at(topic) < at(counter), "{topic}, {counter}:\n{shown}");
        }
        for (first, _) in TOPICS {
            assert!(named.iter().any(|(name, ..)| *name == first), "{first}");
        }
        assert!(!shown.contains("passed_over, by reason"), "nothing was passed over");
    }

    #[test]
    fn explain_says_beside_each_counter_and_reason_what_it_counts() {
        let named = Counters::default().named();
        let counters = named.iter().map(|(name, ..)| ((*name).to_owned(), json!(7)));
        let now = json!({
            "counters": counters.collect::<serde_json::Map<_, _>>(),
            "reasons": { "bypassed": { "md5": 2 } }, "hosts": {}, "flows": 4,
        });
        let shown = stats(&now, None, Duration::from_secs(1), true);
        let sentences = named.iter().map(|(name, _, sentence)| (*name, sentence.as_str()));
        for (name, meaning) in sentences.chain([("md5", "option MD5 in the handshake")]) {
            let of_name = |line: &&str| {
                line.split_whitespace().next() == Some(name) && line.starts_with("  ")
            };
            let line = shown.lines().find(of_name).unwrap_or_else(|| panic!("{name} in\n{shown}"));
            assert!(line.ends_with(meaning), "{line}");
        }
    }

    #[test]
    fn a_connection_is_a_line_with_all_that_is_known_of_it() {
        let line = flow(&json!({
            "state": "simulated", "host": "192.168.1.7:40000", "far": "[2001:db8::1]:443",
            "idle": 0.26, "virtual_losses": 3, "age": 7.51, "answer": null,
        }));
        let expected = "tcp simulated  host=192.168.1.7:40000 far=[2001:db8::1]:443 idle=0.3s \
                        age=7.5s answer=- virtual_losses=3";
        assert_eq!(line, expected);
    }
}
