//! Counters of middleboxes.

use crate::duplicate_acks::DuplicateAckCounters;
use crate::ecn_proxy::EcnProxyCounters;
use serde::Serialize;
use std::collections::BTreeMap;

/// A middlebox of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MiddleboxSummary {
    /// The node that hosts it.
    pub node: String,
    /// Its kind and counters.
    #[serde(flatten)]
    pub did: MiddleboxCounters,
}

/// Counters of a middlebox, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MiddleboxCounters {
    /// An ECN proxy.
    EcnProxy(EcnProxyCounters),
    /// The proxy of Sprenger 2016.
    DuplicateAcks(DuplicateAckCounters),
    /// A middlebox of another crate.
    #[serde(untagged)]
    Custom(CustomCounters),
}

/// Counters of a middlebox that another crate provides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CustomCounters {
    /// The name of its kind.
    pub kind: &'static str,
    /// Its counters by their names.
    #[serde(flatten)]
    pub counters: BTreeMap<&'static str, u64>,
}
