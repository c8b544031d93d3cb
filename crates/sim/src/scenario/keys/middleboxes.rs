use crate::scenario::decode::At;

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
        /// The node that it stands on: a router that all packets of the served hosts pass.
        node: At<String>,
        /// The hosts that it serves.
        served: Vec<At<String>>,
        /// How their senders are told of marks. Default: virtual-loss.
        policy: Option<SenderPolicyKeys>,
        /// Virtual losses, and ECT, for senders without SACK as well. Default: false.
        without_sack: Option<bool>,
        /// Ask for ECN no more when a SYN is sent again (RFC 3168 section 6.1.1.1). Default: true.
        fallback: Option<bool>,
    }
}

words! {
    /// How an ECN proxy tells a served sender of marks.
    enum SenderPolicyKeys as "a policy" {
        /// By ACKs that say a segment is missing which is not.
        VirtualLoss = "virtual-loss",
        /// By dropping a packet.
        Drop = "drop",
        /// Not at all: what it sends stays Not-ECT.
        NoEct = "no-ect",
    }
}
