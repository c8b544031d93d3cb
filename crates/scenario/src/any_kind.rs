//! A controller, queue discipline, middlebox or transport where a scenario names it: Windlass's own kinds, which
//! [`choice!`](windlass_keys::choice) declares, and those that the [`Registry`] adds.

use crate::registry::{Context, Kind, Registry, Settings};
use std::fmt::Debug;
use windlass_keys::{Choice, Decode, Definitions, Keys, Node, kind_of};

/// Windlass's own kinds of something, to which a registry adds others.
pub(crate) trait KnownKinds: Choice + Decode<Registry> {
    /// A kind of the registry with its settings.
    type Custom: Clone + Debug;

    /// The keys beside those settings that the scenario reads itself.
    type Beside: Keys<Registry> + Clone + Debug;

    /// The kinds of the registry.
    fn added(registry: &Registry) -> &[Kind<Self::Custom>];
}

/// One of the known kinds, or one of the registry's.
#[derive(Clone, Debug)]
pub(crate) enum AnyKind<K: KnownKinds> {
    Known(K),
    Custom(K::Custom, K::Beside),
}

impl<K: KnownKinds> Decode<Registry> for AnyKind<K> {
    const EXPECTED: &'static str = K::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let added = K::added(context.registry()).to_vec();
        let others = added.iter().map(|kind| kind.name).filter(|name| !K::KINDS.contains(name));
        let names: Vec<&'static str> = K::KINDS.iter().copied().chain(others).collect();
        let name = kind_of::<K, _>(node, context, K::NOUN, &names)?;
        if K::KINDS.contains(&name) {
            return K::decode(node, context).map(AnyKind::Known);
        }
        let kind = added.iter().find(|kind| kind.name == name)?;
        let built = (kind.build)(settings(node, &K::Beside::names()))
            .map_err(|message| context.wrong(node.position, format!("{name}: {message}")))
            .ok()?;
        Some(AnyKind::Custom(built, K::Beside::read(node, context)?))
    }

    /// The settings of the registry's kinds are not known to the schema.
    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let known = K::schema(definitions);
        let added = K::added(definitions.registry()).iter().flat_map(|kind| {
            let name = serde_json::json!({ "const": kind.name });
            let table = serde_json::json!({
                "type": "object",
                "properties": { "kind": name },
                "required": ["kind"],
            });
            [name, table]
        });
        let all: Vec<serde_json::Value> = std::iter::once(known.clone()).chain(added).collect();
        if all.len() == 1 { known } else { serde_json::json!({ "anyOf": all }) }
    }
}

/// The settings of a kind of the registry: its keys, without `kind` and those of `beside`.
fn settings(node: &Node, beside: &[&str]) -> Settings {
    let entries = node.table().unwrap_or_default().iter();
    entries
        .filter(|entry| entry.key != "kind" && !beside.contains(&entry.key.as_str()))
        .map(|entry| (entry.key.clone(), entry.node.to_json()))
        .collect()
}
