//! The JSON Schema of scenario files, from the same definitions that read them.

use super::decode::Decode;
use super::definitions::Definitions;
use super::keys::ScenarioKeys;
use super::model::SCHEMA_VERSION;
use super::registry::Registry;
use serde_json::{Value, json};

/// The JSON Schema (draft 2020-12) of a scenario, whether it is written as TOML or as JSON.
pub fn schema() -> Value {
    of(&Registry::default())
}

/// The schema of scenarios that may also name the kinds of `registry`.
pub(super) fn of(registry: &Registry) -> Value {
    let mut definitions = Definitions::new(registry.clone());
    let root = ScenarioKeys::schema(&mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Windlass scenario, version {SCHEMA_VERSION}"),
        "$defs": definitions.into_map(),
    });
    if let (Some(schema), Value::Object(root)) = (schema.as_object_mut(), root) {
        schema.extend(root);
    }
    schema
}
