//! The distributions of a run as rows of one table: delays in queues and RTT samples.

use super::column::Column;
use serde_json::{Value, json};

pub(super) const P90: &[&str] = &["ms", "p90"];
pub(super) const P99_9: &[&str] = &["ms", "p99_9"];

/// Its columns, in milliseconds.
pub(super) const COLUMNS: &[Column] = &[
    ("delay in ms", &["of"], 0),
    ("mean", &["ms", "mean"], 2),
    ("p50", &["ms", "p50"], 2),
    ("p90", P90, 2),
    ("p95", &["ms", "p95"], 2),
    ("p99", &["ms", "p99"], 2),
    ("p99.9", P99_9, 2),
    ("max", &["ms", "max"], 2),
];

/// A row for each distribution that has samples: first those of queues, then those of flows.
pub(super) fn rows(result: &Value) -> Value {
    let queues = items(&result["queues"]).map(|queue| {
        let name = format!("queue {} {}", text(&queue["link"]), text(&queue["direction"]));
        row(name, &queue["queue_delay_ms"])
    });
    let flows = items(&result["flows"]).flat_map(|flow| {
        let name = text(&flow["name"]);
        [
            row(format!("{name} in queues"), &flow["queue_delay_ms"]),
            row(format!("{name} RTT"), &flow["rtt_samples_ms"]),
        ]
    });
    let udp = items(&result["udp"]).flat_map(|flow| {
        let name = text(&flow["name"]);
        [
            row(format!("{name} in queues"), &flow["queue_delay_ms"]),
            row(format!("{name} frames"), &flow["media"]["frame_delay_ms"]),
        ]
    });
    queues.chain(flows).chain(udp).flatten().collect()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn row(of: String, distribution: &Value) -> Option<Value> {
    distribution.is_object().then(|| json!({ "of": of, "ms": distribution }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_without_packets_and_a_flow_without_samples_have_no_row() {
        let ms = json!({ "mean": 1.5 });
        let result = json!({
            "queues": [
                { "link": "r1-r2", "direction": "forward", "queue_delay_ms": ms },
                { "link": "r1-r2", "direction": "backward", "queue_delay_ms": null },
            ],
            "flows": [{ "name": "a", "queue_delay_ms": null, "rtt_samples_ms": ms }],
            "udp": [],
        });
        let rows = rows(&result);
        let names: Vec<&str> = items(&rows).map(|row| text(&row["of"])).collect();
        assert_eq!(names, ["queue r1-r2 forward", "a RTT"]);
    }
}
