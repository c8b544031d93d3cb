//! The named definitions of the JSON Schema, its `$defs`.

use serde_json::{Map, Value, json};

/// The schemas that have a name, each defined once.
#[derive(Debug)]
pub struct Definitions<R = ()> {
    named: Map<String, Value>,
    registry: R,
}

impl<R> Definitions<R> {
    /// No definition yet.
    pub(crate) fn new(registry: R) -> Definitions<R> {
        Definitions { named: Map::new(), registry }
    }

    /// The kinds that documents may name.
    pub fn registry(&self) -> &R {
        &self.registry
    }

    /// A reference to the definition `name`, which `build` makes the first time. A type's suffix
    /// `Keys` is not part of the name.
    pub(crate) fn define(
        &mut self,
        name: &str,
        build: impl FnOnce(&mut Definitions<R>) -> Value,
    ) -> Value {
        let name = name.trim_end_matches("Keys");
        if !self.named.contains_key(name) {
            let schema = build(self);
            self.named.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    /// All definitions, for `$defs`.
    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.named
    }
}

/// The schema of a table that has these keys and no others.
pub(crate) fn object(properties: Map<String, Value>, required: Vec<&str>) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Adds a description to `schema`. `doc` has the lines of a doc comment, each with its leading blank.
pub fn described(mut schema: Value, doc: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), doc.trim().into());
    }
    schema
}
