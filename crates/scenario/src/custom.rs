//! Kinds of the registry where scenarios name them.

use crate::registry::{Context, Kind, Registry};
use windlass_keys::{Decode, Node, kind_of};

/// The kind that a node names.
pub(crate) enum Found<T> {
    /// One of Windlass's, still to be read.
    Known,
    /// One of the registry's, with its settings.
    Custom(T),
}

/// Finds the kind of a node among Windlass's `known` and the registry's `kinds`, and builds the
/// latter from the keys that are not in `outer`. `None` after reporting a problem.
pub(crate) fn find<T, Known: Decode<Registry>>(
    node: &Node,
    context: &mut Context,
    (what, known): (&str, &[&'static str]),
    kinds: &[Kind<T>],
    outer: &[&str],
) -> Option<Found<T>> {
    let custom = kinds.iter().map(|kind| kind.name).filter(|name| !known.contains(name));
    let names: Vec<&'static str> = known.iter().copied().chain(custom).collect();
    let name = kind_of::<Known, _>(node, context, what, &names)?;
    if known.contains(&name) {
        return Some(Found::Known);
    }
    let kind = kinds.iter().find(|kind| kind.name == name)?;
    let entries = node.table().unwrap_or_default().iter();
    let settings = entries
        .filter(|entry| !outer.contains(&entry.key.as_str()))
        .map(|entry| (entry.key.clone(), entry.node.to_json()))
        .collect();
    match (kind.build)(settings) {
        Ok(built) => Some(Found::Custom(built)),
        Err(message) => {
            context.wrong(node.position, format!("{name}: {message}"));
            None
        }
    }
}

/// Adds the registry's kinds to the schema of a choice. Their settings are not known to it.
pub(crate) fn schema<T>(known: serde_json::Value, kinds: &[Kind<T>]) -> serde_json::Value {
    let custom = kinds.iter().flat_map(|kind| {
        let name = serde_json::json!({ "const": kind.name });
        let table = serde_json::json!({
            "type": "object",
            "properties": { "kind": name },
            "required": ["kind"],
        });
        [name, table]
    });
    let all: Vec<serde_json::Value> = std::iter::once(known.clone()).chain(custom).collect();
    if all.len() == 1 { known } else { serde_json::json!({ "anyOf": all }) }
}
