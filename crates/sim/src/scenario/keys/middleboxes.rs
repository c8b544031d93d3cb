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
        /// The node that hosts it: a router that all packets of the served hosts pass.
        node: At<String>,
        /// The hosts that it serves.
        served: Vec<At<String>>,
        /// How the proxy signals marks to their senders. Default: virtual-loss.
        policy: Option<SenderPolicyKeys>,
        /// Use virtual losses and ECT for senders without SACK too. Default: false.
        without_sack: Option<bool>,
        /// Do not request ECN on a retransmitted SYN (RFC 3168 section 6.1.1.1). Default: true.
        fallback: Option<bool>,
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
    }
}
