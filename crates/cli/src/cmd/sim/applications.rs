//! Applications of a run as rows of tables: transfers by size, loads of pages, video, rounds of requests.

use super::column::Column;
use serde_json::{Value, json};

const TRANSFERS: &[Column] = &[
    ("transfers", &["of"], 0),
    ("bytes", &["size"], 0),
    ("done", &["figures", "completed"], 0),
    ("mean\nms", &["figures", "completion_ms", "mean"], 1),
    ("p50", &["figures", "completion_ms", "p50"], 1),
    ("p99", &["figures", "completion_ms", "p99"], 1),
    ("slowdown\nmean", &["figures", "slowdown", "mean"], 2),
    ("p50", &["figures", "slowdown", "p50"], 2),
    ("p99", &["figures", "slowdown", "p99"], 2),
    ("open", &["figures", "open"], 0),
    ("failed", &["figures", "failed"], 0),
];

const PAGES: &[Column] = &[
    ("pages", &["name"], 0),
    ("loaded", &["pages", "completed"], 0),
    ("failed", &["pages", "failed"], 0),
    ("mean\nms", &["pages", "load_ms", "mean"], 1),
    ("p50", &["pages", "load_ms", "p50"], 1),
    ("p95", &["pages", "load_ms", "p95"], 1),
    ("p99", &["pages", "load_ms", "p99"], 1),
    ("max", &["pages", "load_ms", "max"], 1),
];

const VIDEO: &[Column] = &[
    ("video", &["name"], 0),
    ("start\ns", &["video", "startup_s"], 2),
    ("stalls", &["video", "rebuffers"], 0),
    ("stalled\ns", &["video", "rebuffering_s"], 2),
    ("ratio", &["video", "rebuffering_ratio"], 4),
    ("played\ns", &["video", "played_s"], 1),
    ("segments", &["video", "segments"], 0),
    ("Mbit/s", &["video", "mean_mbit_per_s"], 2),
    ("switches", &["video", "switches"], 0),
];

const MEDIA: &[Column] = &[
    ("media", &["name"], 0),
    ("frames", &["media", "frames"], 0),
    ("on time", &["media", "on_time"], 0),
    ("late", &["media", "late"], 0),
    ("lost", &["media", "lost"], 0),
    ("missed", &["media", "miss_ratio"], 4),
    ("mean\nms", &["media", "frame_delay_ms", "mean"], 1),
    ("p99", &["media", "frame_delay_ms", "p99"], 1),
];

const ROUNDS: &[Column] = &[
    ("rounds of", &["of"], 0),
    ("flows", &["flows"], 0),
    ("rounds", &["rounds"], 0),
    ("mean\nms", &["ms", "mean"], 2),
    ("p50", &["ms", "p50"], 2),
    ("p99", &["ms", "p99"], 2),
    ("max", &["ms", "max"], 2),
];

/// The tables, each with its columns; one without rows is not shown.
pub(super) fn tables(result: &Value) -> [(Value, &'static [Column]); 5] {
    [
        (transfers(result), TRANSFERS),
        (with(&result["flows"], "pages"), PAGES),
        (with(&result["flows"], "video"), VIDEO),
        (with(&result["udp"], "media"), MEDIA),
        (rounds(result), ROUNDS),
    ]
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The rows that have figures under a key.
fn with(rows: &Value, key: &str) -> Value {
    items(rows).filter(|row| row[key].is_object()).cloned().collect()
}

/// A row for all transfers of a flow, and one for each size if there are several.
fn transfers(result: &Value) -> Value {
    let flows = items(&result["flows"]).filter(|flow| flow["completions"].is_object());
    let rows = flows.flat_map(|flow| {
        let completions = &flow["completions"];
        let used: Vec<&Value> =
            items(&completions["classes"]).filter(|class| is_used(class)).collect();
        let classes = used.iter().filter(|_| used.len() > 1);
        let classes =
            classes.map(|class| json!({ "of": "", "size": size(class), "figures": class }));
        std::iter::once(json!({
            "of": flow["name"],
            "size": "all",
            "figures": all(completions),
        }))
        .chain(classes)
        .collect::<Vec<_>>()
    });
    rows.collect()
}

/// The figures of all transfers as those of a class.
fn all(completions: &Value) -> Value {
    let mut figures = completions["all"].clone();
    if !figures.is_object() {
        figures = json!({});
    }
    for key in ["completed", "open", "failed"] {
        figures[key] = completions[key].clone();
    }
    figures
}

fn is_used(class: &Value) -> bool {
    let completed = &class["completed"];
    completed.as_f64().or(completed["mean"].as_f64()).is_some_and(|count| count > 0.0)
}

/// Such as `10 kB to 100 kB`.
fn size(class: &Value) -> String {
    match (class["from_bytes"].as_u64(), class["below_bytes"].as_u64()) {
        (Some(0), Some(below)) => format!("below {}", bytes(below)),
        (Some(from), Some(below)) => format!("{} to {}", bytes(from), bytes(below)),
        (Some(from), None) => format!("from {}", bytes(from)),
        _ => String::new(),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        1_000_000.. => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} kB", bytes / 1_000),
    }
}

fn rounds(result: &Value) -> Value {
    let rows = items(&result["barriers"]).map(|barrier| {
        let flows = barrier["flows"].as_array();
        json!({
            "of": flows.and_then(|flows| flows.first()),
            "flows": flows.map(Vec::len),
            "rounds": barrier["rounds"],
            "ms": barrier["round_ms"],
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(from: u64, below: Option<u64>, completed: u64) -> Value {
        json!({ "from_bytes": from, "below_bytes": below, "completed": completed })
    }

    #[test]
    fn a_flow_has_a_row_for_all_sizes_and_one_for_each_that_it_used() {
        let classes = [
            class(0, Some(10_000), 5),
            class(10_000, Some(100_000), 0),
            class(10_000_000, None, 2),
        ];
        let completions = json!({ "completed": 7, "open": 1, "failed": 0, "classes": classes });
        let flows = json!([{ "name": "web", "completions": completions }, { "name": "bulk" }]);
        let rows = transfers(&json!({ "flows": flows }));
        let sizes: Vec<&str> = items(&rows).filter_map(|row| row["size"].as_str()).collect();
        assert_eq!(sizes, ["all", "below 10 kB", "from 10 MB"]);
        assert_eq!(rows[0]["figures"]["open"], 1);
    }

    #[test]
    fn transfers_of_one_size_need_one_row() {
        let classes = [class(0, Some(10_000), 5), class(10_000, Some(100_000), 0)];
        let completions = json!({ "completed": 5, "open": 0, "failed": 0, "classes": classes });
        let rows = transfers(&json!({ "flows": [{ "name": "web", "completions": completions }] }));
        assert_eq!(items(&rows).count(), 1);
    }

    #[test]
    fn rounds_name_their_first_flow_and_how_many_there_are() {
        let barrier = json!({ "flows": ["s1", "s2"], "rounds": 3, "round_ms": { "mean": 1.5 } });
        let rows = rounds(&json!({ "barriers": [barrier] }));
        assert_eq!((rows[0]["of"].as_str(), rows[0]["flows"].as_u64()), (Some("s1"), Some(2)));
    }
}
