use crate::custom::{self, Found};
use crate::registry::{Context, Registry};
use std::sync::Arc;
use windlass_keys::{Decode, Definitions, Located, Node, choice, keys, words};
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
#[derive(Clone, Debug)]
pub(crate) enum MiddleboxRef {
    Known(MiddleboxKeys),
    Custom(CustomMiddlebox),
}

/// A middlebox of the registry, and the node that hosts it.
#[derive(Clone, Debug)]
pub(crate) struct CustomMiddlebox {
    pub(crate) node: Located<String>,
    pub(crate) factory: Arc<dyn MiddleboxFactory>,
}

impl Decode<Registry> for MiddleboxRef {
    const EXPECTED: &'static str = <MiddleboxKeys as Decode<Registry>>::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let kinds = context.registry().middleboxes.clone();
        let known = (MiddleboxKeys::WHAT, MiddleboxKeys::KINDS);
        let found =
            custom::find::<_, MiddleboxKeys>(node, context, known, &kinds, &["kind", "node"])?;
        match found {
            Found::Known => MiddleboxKeys::decode(node, context).map(MiddleboxRef::Known),
            Found::Custom(factory) => {
                let node = context.key(node, "node")?;
                Some(MiddleboxRef::Custom(CustomMiddlebox { node, factory }))
            }
        }
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let known = MiddleboxKeys::schema(definitions);
        custom::schema(known, &definitions.registry().middleboxes)
    }
}
