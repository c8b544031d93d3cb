//! Summaries as JSON texts.

use serde::Serialize;
use serde_json::{Map, Value};

/// An object that has `schema` and `kind` among its keys, with these two first.
#[derive(Debug, Serialize)]
struct Sorted<'a> {
    schema: &'a Value,
    kind: &'a Value,
    #[serde(flatten)]
    body: Map<String, Value>,
}

/// The text of an object that has `schema` and `kind`, such as the summary of a run: these two first, on one
/// line.
pub fn line(object: &Value) -> String {
    serde_json::to_string(&sorted(object)).unwrap_or_else(|error| unreachable(&error))
}

/// The same over several lines, as `windlass sim run --json` prints it.
pub fn pretty(object: &Value) -> String {
    serde_json::to_string_pretty(&sorted(object)).unwrap_or_else(|error| unreachable(&error))
}

/// A body with keys that are no strings: a programmer's error.
fn unreachable(error: &serde_json::Error) -> String {
    panic!("a summary that is no JSON object: {error}")
}

fn sorted(object: &Value) -> Sorted<'_> {
    let mut body = object.as_object().cloned().unwrap_or_default();
    body.remove("schema");
    body.remove("kind");
    Sorted { schema: &object["schema"], kind: &object["kind"], body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_summary_begins_with_its_version_and_kind_and_has_them_once() {
        let one = line(&json!({ "a": 0, "schema": 1, "kind": "sim.run", "seed": 7 }));
        assert_eq!(one, r#"{"schema":1,"kind":"sim.run","a":0,"seed":7}"#);
    }
}
