//! The JSON Schema of scenario files, from the same definitions that read them.

use super::decode::{Decode, Keys};
use super::keys::ScenarioKeys;
use super::model::SCHEMA_VERSION;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of a scenario, whether it is written as TOML or as JSON.
pub fn schema() -> Value {
    let mut definitions = Definitions::default();
    let root = ScenarioKeys::schema(&mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Windlass scenario, version {SCHEMA_VERSION}"),
        "$defs": definitions.0,
    });
    if let (Some(schema), Value::Object(root)) = (schema.as_object_mut(), root) {
        schema.extend(root);
    }
    schema
}

/// The schemas that have a name.
#[derive(Debug, Default)]
pub(super) struct Definitions(Map<String, Value>);

impl Definitions {
    /// A table of keys, under its type's name.
    pub(super) fn table<T: Keys>(&mut self, name: &str, doc: &str) -> Value {
        self.define(name, |definitions| {
            let mut properties = Map::new();
            T::properties(definitions, &mut properties);
            described(object(properties, T::required()), doc)
        })
    }

    /// One kind of a choice.
    pub(super) fn kind<T: Keys>(&mut self, kind: &str, doc: &str) -> Value {
        let mut properties = Map::new();
        properties.insert("kind".into(), json!({ "const": kind }));
        T::properties(self, &mut properties);
        let mut required = T::required();
        let name_will_do = required.is_empty();
        required.push("kind");
        let table = object(properties, required);
        let schema =
            if name_will_do { json!({ "anyOf": [{ "const": kind }, table] }) } else { table };
        described(schema, doc)
    }

    /// A choice of kinds, under its type's name.
    pub(super) fn choice(&mut self, name: &str, doc: &str, kinds: Vec<Value>) -> Value {
        self.define(name, |_| described(json!({ "oneOf": kinds }), doc))
    }

    fn define(&mut self, name: &str, build: impl FnOnce(&mut Definitions) -> Value) -> Value {
        let name = name.trim_end_matches("Keys");
        if !self.0.contains_key(name) {
            let schema = build(self);
            self.0.insert(name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }
}

fn object(properties: Map<String, Value>, required: Vec<&str>) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// `schema` with a description; `doc` as rustdoc's lines, each with its leading blank.
pub(super) fn described(mut schema: Value, doc: &str) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("description".into(), doc.trim().into());
    }
    schema
}
