//! JSON Schemas of whole documents, and of the tables and choices that the macros declare.

use crate::decode::{Decode, Keys};
use crate::definitions::{Definitions, described, object};
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of a document with these keys, whether it is written as TOML or as
/// JSON. The document may name the kinds of `registry`.
pub fn schema<T: Decode<R>, R>(title: &str, registry: R) -> Value {
    let mut definitions = Definitions::new(registry);
    let root = T::schema(&mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "$defs": definitions.into_map(),
    });
    if let (Some(schema), Value::Object(root)) = (schema.as_object_mut(), root) {
        schema.extend(root);
    }
    schema
}

/// A table of keys, defined under its type's name.
pub fn table<T: Keys<R>, R>(definitions: &mut Definitions<R>, name: &str, doc: &str) -> Value {
    definitions.define(name, |definitions| {
        let mut properties = Map::new();
        T::properties(definitions, &mut properties);
        described(object(properties, T::required()), doc)
    })
}

/// One kind of a choice. Its name alone is valid too if none of its keys is required.
pub fn kind<T: Keys<R>, R>(definitions: &mut Definitions<R>, kind: &str, doc: &str) -> Value {
    let mut properties = Map::new();
    properties.insert("kind".into(), json!({ "const": kind }));
    T::properties(definitions, &mut properties);
    let mut required = T::required();
    let name_will_do = required.is_empty();
    required.push("kind");
    let table = object(properties, required);
    let schema = if name_will_do { json!({ "anyOf": [{ "const": kind }, table] }) } else { table };
    described(schema, doc)
}

/// A choice of kinds, defined under its type's name.
pub fn choice<R>(
    definitions: &mut Definitions<R>,
    name: &str,
    doc: &str,
    kinds: Vec<Value>,
) -> Value {
    definitions.define(name, |_| described(json!({ "oneOf": kinds }), doc))
}
