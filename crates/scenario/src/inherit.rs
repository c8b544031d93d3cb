//! `[defaults]`: options of every flow that does not set its own.

use crate::keys::TcpKeys;
use crate::registry::{Context, Registry};
use std::path::PathBuf;
use windlass_keys::{Decode, KeyValue, Node, Value};

/// Copies each default into every flow without that key. Invalid defaults are not copied, so that they
/// are reported once.
pub(crate) fn inherit_defaults(root: &mut Node, registry: &Registry) {
    let Some(defaults) = root.get("defaults").cloned() else { return };
    let mut aside = Context::new(registry.clone(), PathBuf::new());
    if TcpKeys::decode(&defaults, &mut aside).is_none() {
        return;
    }
    let Value::Table(entries) = &mut root.value else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key == "flows") {
        if let Value::List(flows) = &mut entry.node.value {
            flows.iter_mut().for_each(|flow| inherit(flow, &defaults));
        }
    }
}

fn inherit(flow: &mut Node, defaults: &Node) {
    let Value::Table(entries) = &mut flow.value else { return };
    for default in defaults.table().unwrap_or_default() {
        match entries.iter_mut().find(|entry| entry.key == default.key) {
            // The receiver's options are inherited one by one, all others as a whole.
            Some(KeyValue { key, node, .. }) if key == "receiver" => inherit(node, &default.node),
            Some(_) => {}
            None => entries.push(default.clone()),
        }
    }
}
