//! Scenarios of version 1 as ones of version 2.

use crate::version::{FIRST_DEFAULT, LATEST};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value, value};

/// The TOML text of a scenario of version 1 as one of version 2 that simulates the same: `[defaults]`
/// names the profile of the flows that name none. Comments and the order of keys stay. `None` for a
/// text of another version.
///
/// # Errors
///
/// The text is not TOML; says where.
pub fn upgrade(text: &str) -> Result<Option<String>, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let version = document.get_mut("schema").and_then(Item::as_value_mut);
    let Some(version) = version.filter(|version| version.as_integer() == Some(1)) else {
        return Ok(None);
    };
    let decor = version.decor().clone();
    *version = Value::from(LATEST);
    *version.decor_mut() = decor;
    if needs_a_profile(&document) {
        let defaults = document.entry("defaults").or_insert(Item::Table(Table::new()));
        if let Some(defaults) = defaults.as_table_like_mut() {
            defaults.insert("profile", value(FIRST_DEFAULT.name()));
        }
    }
    Ok(Some(document.to_string()))
}

/// True if a flow has its profile from the version.
fn needs_a_profile(document: &DocumentMut) -> bool {
    let by_default = document.get("defaults").and_then(Item::as_table_like).is_some_and(names_one);
    !by_default && flows(document).into_iter().any(|flow| !names_one(flow))
}

fn names_one(options: &dyn TableLike) -> bool {
    options.contains_key("profile")
}

/// The flows, whether they are a list of tables or an array of inline ones.
fn flows(document: &DocumentMut) -> Vec<&dyn TableLike> {
    match document.get("flows") {
        Some(Item::ArrayOfTables(tables)) => {
            tables.iter().map(|table| table as &dyn TableLike).collect()
        }
        Some(Item::Value(Value::Array(items))) => items
            .iter()
            .filter_map(|item| item.as_inline_table().map(|table| table as &dyn TableLike))
            .collect(),
        _ => vec![],
    }
}
