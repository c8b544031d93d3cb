//! The named definitions of the JSON Schema, its `$defs`.

use super::registry::Registry;
use serde_json::{Map, Value, json};

/// The schemas that have a name, each defined once.
#[derive(Debug)]
pub(super) struct Definitions {
    named: Map<String, Value>,
    /// The kinds that scenarios may name beside Windlass's.
    pub(super) registry: Registry,
}

impl Definitions {
    /// No definition yet.
    pub(super) fn new(registry: Registry) -> Definitions {
        Definitions { named: Map::new(), registry }
    }

    /// A reference to the definition `name`, which `build` makes the first time. A type's suffix
    /// `Keys` is not part of the name.
    pub(super) fn define(
        &mut self,
        name: &str,
        build: impl FnOnce(&mut Definitions) -> Value,
    ) -> Value {
        let name = name.trim_end_matches("Keys");
        if !self.named.contains_key(name) {
            let schema = build(self);
            self.named.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// All definitions, for `$defs`.
    pub(super) fn into_map(self) -> Map<String, Value> {
        self.named
    }
}

/// The schema of a table that has these keys and no others.
pub(super) fn object(properties: Map<String, Value>, required: Vec<&str>) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Adds a description to `schema`. `doc` has the lines of a doc comment, each with its leading blank.
pub(super) fn described(mut schema: Value, doc: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), doc.trim().into());
    }
    schema
}
