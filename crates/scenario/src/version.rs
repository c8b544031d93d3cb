//! The versions of the format.

use crate::registry::Registry;
use serde_json::json;
use windlass_keys::{Context, Decode, Definitions, KeyValue, Node, Value};
use windlass_tcp::Profile;

/// The latest version.
pub(crate) const LATEST: i64 = 2;
/// The profile of a flow that names none, in version 1.
pub(crate) const FIRST_DEFAULT: Profile = Profile::Rfc5681;
/// The same since version 2.
const DEFAULT: Profile = Profile::Linux;

/// The version of a scenario. Version 2 differs from 1 in the profile of a flow that names none.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version;

impl Decode<Registry> for Version {
    const EXPECTED: &'static str = "`schema = 2`, the version of the format";

    fn decode(node: &Node, context: &mut Context<Registry>) -> Option<Self> {
        match node.value {
            Value::Integer(1..=LATEST) => Some(Version),
            Value::Integer(found) if u32::try_from(found).is_ok() => {
                let message = format!("expected 1 or {LATEST}, found {found}");
                context.wrong(node.position, message);
                None
            }
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<Registry>) -> serde_json::Value {
        json!({ "enum": [1, LATEST] })
    }
}

/// Gives each flow that names no profile that of the scenario's version. Comes after the defaults.
pub(crate) fn name_profiles(root: &mut Node) {
    let first = root.get("schema").is_none_or(|version| version.value == Value::Integer(1));
    let profile = Node::text(if first { FIRST_DEFAULT } else { DEFAULT }.name());
    let Value::Table(entries) = &mut root.value else { return };
    let lists = entries.iter_mut().filter(|entry| entry.key == "flows");
    for list in lists {
        let Value::List(flows) = &mut list.node.value else { return };
        flows.iter_mut().for_each(|flow| name_profile(flow, &profile));
    }
}

/// The position of the new key is that of its flow.
fn name_profile(flow: &mut Node, profile: &Node) {
    let position = flow.position;
    let Value::Table(entries) = &mut flow.value else { return };
    if entries.iter().all(|entry| entry.key != "profile") {
        let (key, node) = ("profile".to_owned(), Node { position, ..profile.clone() });
        entries.push(KeyValue { key, key_position: position, node });
    }
}
