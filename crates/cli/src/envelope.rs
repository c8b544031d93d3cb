//! The envelope of every JSON output: the object begins with `schema`, the version of that kind of
//! document, and `kind`, which names it. docs/reference/json.md lists the kinds.

use serde::Serialize;

/// The texts of an object that brings its own `schema` and `kind`, as the summary of a run does.
pub(crate) use windlass_sim::summary::{line, pretty};

/// The version of every kind of document. A kind whose keys change their meaning gets its own.
pub(crate) const SCHEMA: u32 = 1;

/// A JSON document in its envelope. `body` must serialize as an object.
#[derive(Debug, Serialize)]
pub(crate) struct Document<B> {
    schema: u32,
    kind: &'static str,
    #[serde(flatten)]
    body: B,
}

impl<B: Serialize> Document<B> {
    /// `body` as a document of `kind`, which is `TOOL.WHAT`.
    pub(crate) fn new(kind: &'static str, body: B) -> Document<B> {
        Document { schema: SCHEMA, kind, body }
    }

    /// The document on one line.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable(&error))
    }

    /// The document over several lines, for people.
    pub(crate) fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_else(|error| unreachable(&error))
    }
}

/// A body with keys that are no strings: a programmer's error.
fn unreachable(error: &serde_json::Error) -> String {
    panic!("a document that is no JSON object: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_begins_with_its_version_and_kind() {
        let document = Document::new("doctor", json!({ "a": 1 }));
        assert_eq!(document.line(), r#"{"schema":1,"kind":"doctor","a":1}"#);
        assert!(document.pretty().starts_with("{\n  \"schema\": 1,\n  \"kind\": \"doctor\",\n"));
    }
}
