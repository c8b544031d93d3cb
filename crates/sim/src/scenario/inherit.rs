//! `[defaults]`: options of every flow that does not set its own.

use super::decode::{Context, Decode};
use super::keys::TcpKeys;
use super::tree::{KeyValue, Node, Value};

/// Copies each default into every flow without that key. Invalid defaults are not copied, so that they
/// are reported once.
pub(super) fn inherit_defaults(root: &mut Node) {
    let Some(defaults) = root.get("defaults").cloned() else { return };
    if TcpKeys::decode(&defaults, &mut Context::default()).is_none() {
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
