//! JSON Schemas of the tables and choices that `keys/` declares.

use super::decode::Keys;
use super::definitions::{Definitions, described, object};
use serde_json::{Map, Value, json};

/// A table of keys, defined under its type's name.
pub(super) fn table<T: Keys>(definitions: &mut Definitions, name: &str, doc: &str) -> Value {
    definitions.define(name, |definitions| {
        let mut properties = Map::new();
        T::properties(definitions, &mut properties);
        described(object(properties, T::required()), doc)
    })
}

/// One kind of a choice. Its name alone is valid too if none of its keys is required.
pub(super) fn kind<T: Keys>(definitions: &mut Definitions, kind: &str, doc: &str) -> Value {
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
pub(super) fn choice(
    definitions: &mut Definitions,
    name: &str,
    doc: &str,
    kinds: Vec<Value>,
) -> Value {
    definitions.define(name, |_| described(json!({ "oneOf": kinds }), doc))
}
