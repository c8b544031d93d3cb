//! Counters of an ECN proxy, one for each event of its state machine (`windlass-ecn-proxy-core`).
//! They are in the run's summary.

use serde::Serialize;
use windlass_ecn_proxy_core::Events;

/// Declares the counters, and which event each counts.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident = $event:ident,)*) => {
        /// Counters of an ECN proxy.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct EcnProxyCounters {
            $($(#[doc = $doc])+ pub $name: u64,)*
            /// Packets dropped; those of policy `drop`, and, without SACK, window updates that would
            /// have looked like duplicate ACKs.
            pub dropped: u64,
        }

        impl EcnProxyCounters {
            /// Counts what happened to a packet.
            pub(crate) fn count(&mut self, events: Events) {
                if events.is_empty() {
                    return;
                }
                $(self.$name += u64::from(events.contains(Events::$event));)*
            }
        }
    };
}

counters! {
    /// SYNs of served hosts that the proxy made ask for ECN.
    upgraded = UPGRADED,
    /// Handshakes in which both ends had ECN of their own.
    both_ecn = BOTH,
    /// Handshakes in which only the end that opened had ECN.
    client_only = CLIENT_ONLY,
    /// Handshakes in which only the end that was called had ECN.
    server_only = SERVER_ONLY,
    /// Handshakes in which neither had ECN.
    neither = NEITHER,
    /// Connections taken on.
    proxied = PROXIED,
    /// Connections left alone, or left alone from some packet on.
    bypassed = BYPASS,
    /// SYNs that went again without ECN, since the first was not answered.
    fallbacks = FALLBACK,
    /// Packets for served hosts that came with CE.
    ce = CE,
    /// Packets of served hosts that got ECE.
    echoes = ECHO,
    /// Packets of served hosts that got ECT(0).
    ect = ECT,
    /// Of these, those sent while an ECE waited for the sender's reduction.
    ect_waiting = ECT_WAITING,
    /// Packets of served hosts that got CWR.
    cwr = CWR,
    /// Times that a far host began to send ECE for marks of a served sender.
    episodes = EPISODE,
    /// Episodes answered by CWR alone: the sender's flight was two segments at most.
    answered_floor = ANSWERED_FLOOR,
    /// Episodes answered by a sender that repaired a virtual loss.
    answered_virtual_loss = ANSWERED_VIRTUAL_LOSS,
    /// Episodes answered by a sender that repaired a real loss.
    answered_loss = ANSWERED_LOSS,
    /// Episodes answered by a sender that repaired a packet which the proxy had dropped.
    answered_drop = ANSWERED_DROP,
    /// Episodes that ended without an answer.
    passed_over = PASSED_OVER,
    /// Virtual losses opened.
    virtual_losses = VIRTUAL_LOSS,
    /// Virtual losses that have ended: the served host sees the far host's ACKs again.
    released = RELEASED,
    /// Retransmissions of virtual losses that the proxy answered itself.
    self_answers = SELF_ANSWER,
    /// Retransmissions of virtual losses that went no further, for an ACK of the far host to answer them.
    kept_back = KEPT_BACK,
    /// Virtual losses and drops after which the sender's flight was seen to fall for a round trip.
    flight_fell = FLIGHT_FELL,
    /// Virtual losses and drops after which it did not fall.
    flight_kept = FLIGHT_KEPT,
    /// Times that new data went without ECT from then on: an ECE waited too long, or the sender does
    /// not slow down.
    ect_withdrawn = ECT_WITHDRAWN,
    /// Connections seen to end.
    closed = CLOSED,
}
