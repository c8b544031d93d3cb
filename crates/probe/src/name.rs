//! Names of variants in tables.

use serde::Serialize;
use serde_json::Value;

/// The name that a variant has in JSON: it stands alone, or as `kind` beside the variant's fields.
pub(crate) fn name(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(name)) => name,
        Ok(variant) => variant.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}
