//! The counters that the programs keep for each CPU (bpf/count.h), as sums, and the names of reasons. The daemon
//! prints them for `windlass ecn-proxy stats` and for metrics.

use super::error::doing;
use super::{Error, load};
use libbpf_rs::{MapCore, MapFlags, Object};
use serde::Serialize;

/// Why a connection is not served, an echo not answered, or ECT withheld, and what each of these means;
/// `enum ecn_reason`.
pub const REASONS: [(&str, &str); 19] = [
    ("none", "no reason"),
    ("host-has-ecn", "the served host asks for ECN itself, or accepts it itself"),
    ("far-without-ecn", "the far host wants no ECN"),
    ("strange-handshake", "flags in the handshake to which no RFC gives a meaning"),
    ("accecn", "AccECN's bit or options on a connection that negotiated RFC 3168"),
    ("md5", "option MD5 in the handshake"),
    ("ao", "option AO in the handshake"),
    ("mptcp", "option MPTCP in the handshake"),
    ("broken-options", "options that do not parse"),
    (
        "fallback",
        "the far host is known to fail with ECN, or did not answer the SYN that asked for it",
    ),
    ("unknown-option", "options in ACKs that a virtual loss might contradict"),
    ("no-sack", "the sender has no SACK"),
    ("policy", "the policy says so"),
    ("closing", "FIN or RST came before the answer"),
    ("off", "the proxy was off"),
    ("waits", "an echo has waited too long for its answer"),
    ("reopened", "the far host has accepted a new connection under the same addresses and ports"),
    ("under-way", "the served host has sent data, but no answer to its SYN has passed the proxy"),
    (
        "no-response",
        "the sender's flight did not fall after virtual losses or drops, or other connections of its host lost ECT for that",
    ),
];

/// Offsets of bpf/tables.h, in numbers of eight bytes.
const EVENTS: usize = 20;
const BYPASS: usize = 52;
const PASSED_OVER: usize = 84;
const WITHDRAWN: usize = 116;
pub(super) const END: usize = 148;

const LOSSES_AVOIDED: &str = "Packets of served connections that a queue marked in place of dropping \
    them, at least: `marks`, and the episodes that ended other than by a drop of the proxy.";

macro_rules! counters {
    ($($(#[doc = $doc:expr])+ $name:ident = $index:expr;)+) => {
        /// Counts of the programs since the tables were made. A super-packet (GRO, GSO) counts as
        /// one.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Connections not served, by reason, in the order of `enum ecn_reason` in flow.h.
            pub bypassed_by_reason: Vec<u64>,
            /// Episodes that ended without an answer, by reason.
            pub passed_over_by_reason: Vec<u64>,
            /// ECT withheld from then on, by reason.
            pub withdrawn_by_reason: Vec<u64>,
        }

        impl Counters {
            fn from_values(values: &[u64; END]) -> Counters {
                let by_reason = |base: usize| values[base..base + REASONS.len()].to_vec();
                Counters {
                    $($name: values[$index],)+
                    bypassed_by_reason: by_reason(BYPASS),
                    passed_over_by_reason: by_reason(PASSED_OVER),
                    withdrawn_by_reason: by_reason(WITHDRAWN),
                }
            }

            /// All but those by reason: name, value and what it means. The last is
            /// [`Counters::losses_avoided`].
            pub fn named(&self) -> Vec<(&'static str, u64, String)> {
                let avoided = self.losses_avoided();
                vec![
                    $((stringify!($name), self.$name, [$($doc),+].concat().trim().to_owned()),)+
                    ("losses_avoided", avoided, LOSSES_AVOIDED.to_owned()),
                ]
            }
        }
    };
}

counters! {
    /// Packets that the programs saw, without the proxy's own clones.
    packets = 0;
    /// Packets of unfragmented TCP over IPv4 or IPv6.
    tcp = 1;
    /// Packets shorter than their headers say, or inconsistent; they pass untouched.
    malformed = 2;
    /// SYNs that the lists of addresses and ports exclude.
    listed = 3;
    /// Connections not served because the table was full.
    no_room = 4;
    /// Packets that the proxy changed.
    edited = 5;
    /// Packets that the kernel did not let the proxy change.
    edit_failed = 6;
    /// Packets to which the proxy added pure ACKs.
    cloned = 7;
    /// Retransmissions that the proxy answered itself.
    replies = 8;
    /// Packets that the proxy dropped, under the policy drop.
    dropped = 9;
    /// Connections added to the table.
    flows_added = 10;
    /// Connections removed from the table.
    flows_removed = 11;
    /// SYNs, and packets of known connections, that passed because the daemon's lease had expired.
    lease_over = 12;
    /// Lists of GRO (rx-gro-list) that the proxy changed as a whole.
    lists = 13;
    /// Lists of GRO that this kernel cannot change as a whole: the first packet was changed, or the list was
    /// dropped (`edit_failed`).
    lists_kept = 14;
    /// Payload of served connections, in bytes, both ways, retransmissions included.
    bytes_served = 15;
    /// Payload of other connections in packets with an ECN codepoint: both ends have ECN.
    bytes_own = 16;
    /// Payload of other connections in packets without an ECN codepoint.
    bytes_without = 17;
    /// SYNs of served hosts to which the proxy added the request for ECN.
    upgraded = EVENTS;
    /// Handshakes after which both ends have ECN.
    both = EVENTS + 1;
    /// Handshakes in which only the end that opened has ECN.
    client_only = EVENTS + 2;
    /// Handshakes in which only the end that answered has ECN.
    server_only = EVENTS + 3;
    /// Handshakes in which no end has ECN.
    neither = EVENTS + 4;
    /// Connections that the proxy began to serve.
    proxied = EVENTS + 5;
    /// Connections that the proxy does not serve, or stopped serving.
    bypassed = EVENTS + 6;
    /// Retransmitted SYNs that passed without ECN because the first one got no answer.
    fallbacks = EVENTS + 7;
    /// Connections whose SYN with ECN got no answer, and whose first one without it did.
    destinations_failed = EVENTS + 8;
    /// Packets for served hosts that arrived with CE: the network's marks.
    marks = EVENTS + 9;
    /// Packets of served hosts to which the proxy added ECE.
    echoes = EVENTS + 10;
    /// Packets of served hosts to which the proxy added ECT(0).
    ect = EVENTS + 11;
    /// Packets of `ect` that were sent while an echo waited for its answer.
    ect_waiting = EVENTS + 12;
    /// Packets of served hosts to which the proxy added CWR.
    cwr = EVENTS + 13;
    /// Times that a far host began to echo a mark of a served sender's packet.
    episodes = EVENTS + 14;
    /// Episodes without a reduction because the sender's window was two segments.
    answered_floor = EVENTS + 15;
    /// Episodes answered by a virtual loss.
    answered_virtual_loss = EVENTS + 16;
    /// Episodes answered by a real loss.
    answered_loss = EVENTS + 17;
    /// Episodes answered by a packet that the proxy dropped.
    answered_drop = EVENTS + 18;
    /// Episodes that get no answer, split by reason.
    passed_over = EVENTS + 19;
    /// Virtual losses that the proxy began.
    virtual_losses = EVENTS + 20;
    /// Virtual losses whose retransmission the proxy answered itself.
    self_answers = EVENTS + 21;
    /// Virtual losses that have ended.
    released = EVENTS + 22;
    /// Times that the proxy stopped setting ECT on a connection.
    ect_withdrawn = EVENTS + 23;
    /// Connections reset, or closed on both sides.
    closed = EVENTS + 24;
    /// SYNs left without ECN, after failures of the far host or a refusal of the port, that were refused.
    plain_refused = EVENTS + 25;
    /// Retransmissions of virtual losses that the proxy held back, since the far host has the data.
    kept_back = EVENTS + 26;
    /// SYNs with ECN that were refused, by a closed port or because of ECN.
    refused = EVENTS + 27;
    /// SYNs left without ECN, after failures of the far host or a refusal of the port, that were accepted.
    plain_accepted = EVENTS + 28;
    /// Virtual losses and drops after which the sender's flight was seen to fall for a round trip.
    flight_fell = EVENTS + 29;
    /// Virtual losses and drops after which the sender's flight did not fall.
    flight_kept = EVENTS + 30;
}

impl Counters {
    /// Packets that a queue marked where it would have dropped packets that are not ECT (RFC 3168
    /// section 5). A lower bound: an episode may have several marks, and a super-packet counts as one.
    pub fn losses_avoided(&self) -> u64 {
        // Each of them only grows, which Prometheus demands of a counter. `episodes` less `answered_drop`
        // would fall at a drop.
        let ended = self.answered_floor
            + self.answered_virtual_loss
            + self.answered_loss
            + self.passed_over;
        self.marks + ended
    }

    /// The sum over all CPUs.
    pub(super) fn read(object: &Object) -> Result<Counters, Error> {
        let table = load::table(object, "counters")?;
        let of_cpus = table.lookup_percpu(&[0; 4], MapFlags::ANY);
        let of_cpus = of_cpus.map_err(doing("reading the counters"))?.unwrap_or_default();
        let mut values = [0u64; END];
        for bytes in of_cpus {
            let (words, rest) = bytes.as_chunks::<8>();
            if words.len() != END || !rest.is_empty() {
                return Err(Error::Unreadable("the counters".to_owned()));
            }
            for (value, word) in values.iter_mut().zip(words) {
                *value += u64::from_ne_bytes(*word);
            }
        }
        Ok(Counters::from_values(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_the_proxy_answered_by_a_drop_avoided_no_loss() {
        let counters = Counters {
            marks: 10,
            episodes: 15,
            answered_floor: 1,
            answered_virtual_loss: 5,
            answered_loss: 2,
            answered_drop: 3,
            passed_over: 4,
            dropped: 3,
            ..Counters::default()
        };
        assert_eq!(counters.losses_avoided(), 10 + 15 - 3);
        let named = counters.named();
        assert!(named.iter().any(|(name, count, _)| (*name, *count) == ("losses_avoided", 22)));
    }
}
