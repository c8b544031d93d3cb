//! Middleboxes: looks up the nodes that they name, and turns the keys of an ECN proxy into its
//! policy.

use crate::any_kind::AnyKind;
use crate::keys::{EcnProxyKeys, MiddleboxKeys, MiddleboxKind, SenderPolicyKeys};
use crate::names::look_up;
use crate::registry::Context;
use std::sync::Arc;
use windlass_ecn_proxy_core::{Policy, SenderPolicy};
use windlass_keys::Located;
use windlass_sim::model::{CustomMiddlebox, DuplicateAcks, Middlebox};

const NODE: &str = "the name of a node";

/// The middleboxes, their nodes looked up.
pub(super) fn middleboxes(
    keys: &[Located<MiddleboxKind>],
    nodes: &[String],
    context: &mut Context,
) -> Vec<Middlebox> {
    let resolve = |keys: &Located<MiddleboxKind>| match &keys.value {
        AnyKind::Known(MiddleboxKeys::EcnProxy(proxy)) => ecn_proxy(keys, proxy, nodes, context),
        AnyKind::Custom(factory, keys) => {
            let node = look_up(&keys.node, NODE, nodes, context)?;
            Some(Middlebox::Custom { node, factory: CustomMiddlebox(Arc::clone(factory)) })
        }
    };
    keys.iter().filter_map(resolve).collect()
}

fn ecn_proxy<T>(
    middlebox: &Located<T>,
    keys: &EcnProxyKeys,
    nodes: &[String],
    context: &mut Context,
) -> Option<Middlebox> {
    let node = look_up(&keys.node, NODE, nodes, context);
    let served = keys.served.iter().map(|name| look_up(name, NODE, nodes, context));
    let served: Vec<usize> = served.collect::<Option<_>>()?;
    let node = node?;
    if served.is_empty() {
        context.wrong_at(&middlebox.location, "expected at least one host in `served`".into());
        return None;
    }
    if let Some(at) = served.iter().position(|host| *host == node) {
        let message = "expected hosts behind the proxy: what a node sends itself passes no \
                       middlebox on it";
        context.wrong_at(&keys.served[at].location, message.into());
        return None;
    }
    let sender = match mechanism(keys.policy.unwrap_or(SenderPolicyKeys::VirtualLoss)) {
        Mechanism::Policy(sender) => sender,
        Mechanism::Paper(variant) => {
            for unknown in [&keys.without_sack, &keys.fallback].into_iter().flatten() {
                context.wrong_at(&unknown.location, "the paper's proxy has no such setting".into());
            }
            return Some(Middlebox::DuplicateAcks { node, served, variant });
        }
    };
    let is_set = |key: &Option<Located<bool>>| key.as_ref().map(|key| key.value);
    let policy = Policy {
        sender,
        without_sack: is_set(&keys.without_sack).unwrap_or(false),
        keeps_asking: !is_set(&keys.fallback).unwrap_or(true),
        ..Policy::default()
    };
    Some(Middlebox::EcnProxy { node, served, policy })
}

/// Mechanism of an ECN proxy: a policy of Windlass's own, or the paper's state machine.
enum Mechanism {
    Policy(SenderPolicy),
    Paper(DuplicateAcks),
}

fn mechanism(keys: SenderPolicyKeys) -> Mechanism {
    match keys {
        SenderPolicyKeys::VirtualLoss => Mechanism::Policy(SenderPolicy::VirtualLoss),
        SenderPolicyKeys::Drop => Mechanism::Policy(SenderPolicy::Drop),
        SenderPolicyKeys::NoEct => Mechanism::Policy(SenderPolicy::NoEct),
        SenderPolicyKeys::DuplicateAcks => Mechanism::Paper(DuplicateAcks::StateMachine),
        SenderPolicyKeys::DuplicateAcksWithCwr => Mechanism::Paper(DuplicateAcks::WithCwr),
        SenderPolicyKeys::DuplicateAcksAsPrinted => Mechanism::Paper(DuplicateAcks::Printed),
    }
}
