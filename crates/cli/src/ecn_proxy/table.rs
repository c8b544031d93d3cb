//! Counters and connections for people.

use crate::print;
use serde_json::Value;
use std::time::Duration;
use windlass_ecn_proxy::daemon::sentences;

/// The counters in the order of the page that explains them; with what was `before`, how many a
/// second came since.
pub(super) fn stats(now: &Value, before: Option<&Value>, apart: Duration) -> String {
    let known = sentences().map(|(name, _)| name);
    let mut rows: Vec<Vec<String>> = known
        .filter_map(|name| {
            let count = now["counters"][name].as_u64()?;
            let rate = before.and_then(|before| before["counters"][name].as_u64()).map(|before| {
                format!("{:.0}", count.saturating_sub(before) as f64 / apart.as_secs_f64())
            });
            Some(vec![name.to_owned(), count.to_string(), rate.unwrap_or_default()])
        })
        .collect();
    for (what, group) in [("flows", &now["flows"]), ("hosts", &now["hosts"])] {
        let group = group.as_object().into_iter().flatten();
        rows.extend(group.map(|(kind, count)| {
            vec![format!("{what}: {kind}"), count.to_string(), String::new()]
        }));
    }
    let header = ["counter", "count", if before.is_some() { "per second" } else { "" }];
    print::table(&header, rows.into_iter())
}

/// A connection as one line, in the manner of conntrack -L.
pub(super) fn flow(flow: &Value) -> String {
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
            line += &format!(" {key}={}", plain(value));
        }
    }
    line
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
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
            "idle": 0.25, "holes": 3, "since": null,
        }));
        let expected = "tcp simulated  host=192.168.1.7:40000 far=[2001:db8::1]:443 idle=0.2s \
                        holes=3 since=-";
        assert_eq!(line, expected);
    }
}
