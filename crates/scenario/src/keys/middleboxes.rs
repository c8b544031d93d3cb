//! The keys of middleboxes.

use crate::any_kind::{AnyKind, KnownKinds};
use crate::registry::{Kind, Registry};
use std::sync::Arc;
use windlass_keys::{Located, choice, keys, words};
use windlass_sim::MiddleboxFactory;

choice! {
    /// A device on a node.
    enum MiddleboxKeys as "a middlebox" {
        /// ECN for hosts that do not ask for it (docs/internals/ecn-proxy.md).
        EcnProxy(EcnProxyKeys) = "ecn-proxy",
    }
}

keys! {
    /// An ECN proxy.
    struct EcnProxyKeys {
        /// The node that hosts it: a router that all packets of the served hosts pass.
        node: Located<String>,
        /// The hosts that it serves.
        served: Vec<Located<String>>,
        /// How the proxy signals marks to their senders. Default: virtual-loss.
        policy: Option<SenderPolicyKeys>,
        /// Use virtual losses and ECT for senders without SACK too. Default: false.
        without_sack: Option<Located<bool>>,
        /// Do not request ECN on a retransmitted SYN (RFC 3168 section 6.1.1.1). Default: true.
        fallback: Option<Located<bool>>,
    }
}

words! {
    /// How an ECN proxy signals marks to a served sender.
    enum SenderPolicyKeys as "a policy" {
        /// By ACKs that report a segment as missing although it arrived.
        VirtualLoss = "virtual-loss",
        /// By dropping a packet.
        Drop = "drop",
        /// Not: its packets stay Not-ECT.
        NoEct = "no-ect",
        /// By three duplicate ACKs, with the state machine of Sprenger 2016, section 3.1.2.
        DuplicateAcks = "duplicate-acks",
        /// The same with CWR after the third, as the text of that section has it.
        DuplicateAcksWithCwr = "duplicate-acks-with-cwr",
        /// The same as printed in listing D.1: the ACK number is mostly a wrong one.
        DuplicateAcksAsPrinted = "duplicate-acks-as-printed",
    }
}

/// A middlebox: one of Windlass's, or one of the registry's.
pub(crate) type MiddleboxKind = AnyKind<MiddleboxKeys>;

keys! {
    /// The keys of a middlebox of the registry that stand beside its settings.
    struct CustomMiddleboxKeys {
        /// The node that hosts it.
        node: Located<String>,
    }
}

impl KnownKinds for MiddleboxKeys {
    type Custom = Arc<dyn MiddleboxFactory>;
    type Beside = CustomMiddleboxKeys;

    fn added(registry: &Registry) -> &[Kind<Self::Custom>] {
        &registry.middleboxes
    }
}
