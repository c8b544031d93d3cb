//! A kind with its settings, as `red:min=10,max=20`.

use serde_json::{Map, Value};

/// The kind, and its settings under the names of scenario files.
pub(super) fn kind_and_settings(text: &str) -> Result<(&str, Map<String, Value>), String> {
    let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
    let settings = settings.split(',').filter(|setting| !setting.is_empty()).map(|setting| {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("expected key=value, found {setting:?}"))?;
        Ok((key.to_owned(), value_of(value)))
    });
    Ok((kind, settings.collect::<Result<_, String>>()?))
}

/// A number, true or false; or a text, as quantities are.
fn value_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => text.into(),
    }
}
