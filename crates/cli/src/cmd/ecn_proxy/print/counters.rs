//! Counters and connections for people.

use crate::stdout;
use serde_json::Value;
use std::time::Duration;
use windlass_ecn_proxy::datapath::Counters;

/// The counters in the order of the page that explains them; with what was `before`, how many a
/// second came since.
pub(in crate::cmd::ecn_proxy) fn stats(
    now: &Value,
    before: Option<&Value>,
    apart: Duration,
) -> String {
    let row = |(name, ..): (&str, u64, String)| {
        let count = now["counters"][name].as_u64()?;
        let before = before.and_then(|before| before["counters"][name].as_u64());
        let rate = before.map(|before| count.saturating_sub(before) as f64 / apart.as_secs_f64());
        let rate = rate.map_or(String::new(), |rate| format!("{rate:.0}"));
        Some(vec![name.to_owned(), count.to_string(), rate])
    };
    let mut rows: Vec<Vec<String>> =
        Counters::default().named().into_iter().filter_map(row).collect();
    let mut group = |what: &str, counts: &Value| {
        let counts = counts.as_object().into_iter().flatten();
        let row = |(kind, count): (&String, &Value)| {
            vec![format!("{what}: {kind}"), count.to_string(), String::new()]
        };
        rows.extend(counts.map(row));
    };
    for what in ["bypassed", "passed_over", "ect_withdrawn"] {
        group(what, &now["reasons"][what]);
    }
    group("far hosts", &now["hosts"]);
    rows.push(vec!["connections in the table".into(), now["flows"].to_string(), String::new()]);
    let header = ["counter", "count", if before.is_some() { "per second" } else { "" }];
    stdout::table(&header, rows.into_iter())
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
    use serde_json::json;

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
