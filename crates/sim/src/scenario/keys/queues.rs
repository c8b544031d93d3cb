use crate::scenario::custom::{self, Found};
use crate::scenario::decode::{At, Context, Decode};
use crate::scenario::definitions::Definitions;
use crate::scenario::tree::{Node, Value};
use crate::scenario::units::{Bytes, Positive, Probability, Threshold};
use serde_json::json;
use windlass_aqm::{self as aqm, Limit};
use windlass_base::{BitRate, Span};

choice! {
    /// A queue discipline and its settings.
    enum QueueKeys as "a queue discipline" {
        /// First in, first out; what does not fit is lost.
        DropTail(DropTailKeys) = "droptail",
        /// Random early detection (Floyd and Jacobson 1993).
        Red(RedKeys) = "red",
        /// RED that sets p_max by itself (Floyd, Gummadi and Shenker 2001).
        AdaptiveRed(AdaptiveRedKeys) = "adaptive-red",
        /// RED whose p_max moves when the average leaves its thresholds (Feng and others 1999).
        SelfConfiguringRed(SelfConfiguringRedKeys) = "self-configuring-red",
        /// Stabilized RED (Ott, Lakshman and Wong 1999).
        Sred(SredKeys) = "sred",
        /// Each packet with the same probability, whatever waits.
        FixedProbability(FixedProbabilityKeys) = "fixed-probability",
        /// CoDel (RFC 8289).
        CoDel(CoDelKeys) = "codel",
        /// FQ-CoDel (RFC 8290).
        FqCoDel(FqCoDelKeys) = "fq-codel",
        /// PIE (RFC 8033).
        Pie(PieKeys) = "pie",
        /// RED as Linux has it: the parameters of `tc red`, the arithmetic of its kernel.
        TcRed(TcRedKeys) = "tc-red",
    }
}

keys! {
    /// Settings of DropTail.
    struct DropTailKeys {
        /// Maximum length. Default: 100 packets.
        limit: Option<Limit>,
    }
}

words! {
    /// How RED signals congestion to a packet that its drop probability selects.
    enum ActionKeys as "an action" {
        /// Drop it.
        Drop = "drop",
        /// Set CE if it is ECN-capable, else drop it.
        Mark = "mark",
    }
}

words! {
    /// How RED treats arrivals while the average is above the range of early signals.
    enum AboveMaxKeys as "what happens above max" {
        /// Drop every arrival.
        DropAll = "drop-all",
        /// Mark what is ECN-capable, drop the rest.
        MarkEct = "mark-ect",
    }
}

keys! {
    /// Settings of RED.
    struct RedKeys {
        /// Maximum length. Default: 100 packets.
        limit: Option<Limit>,
        /// Lower threshold of the average, in packets or bytes. Default: 5 packets.
        min: Option<Threshold>,
        /// Upper threshold, in the unit of `min`. Default: three times `min`.
        max: Option<At<Threshold>>,
        /// Weight of one sample in the average. Default: 0.002; adaptive-red: from the link's rate.
        weight: Option<f64>,
        /// Probability as the average reaches `max`. Default: 0.1.
        p_max: Option<Probability>,
        /// Mean packet size, by which idle time is converted to packets, in bytes. Default: 500.
        mean_packet_bytes: Option<Positive>,
        /// Treatment of packets that RED selects early. Default: mark.
        action: Option<ActionKeys>,
        /// Floyd's practice of spacing marks, instead of the formula printed in 1993. Default: true.
        wait: Option<bool>,
        /// The probability rises from p_max to 1 between max and twice max, instead of jumping.
        /// Default: true; self-configuring-red: false.
        gentle: Option<bool>,
        /// Treatment of arrivals above max (gentle: twice max). Default: drop-all.
        above_max: Option<AboveMaxKeys>,
    }
}

keys! {
    /// Settings of Adaptive RED.
    struct AdaptiveRedKeys {
        /// Time between steps. Default: 500ms.
        interval: Option<Span>,
        /// p_max stays at or above this. Default: 0.01.
        lowest_p_max: Option<Probability>,
        /// p_max stays at or below this. Default: 0.5.
        highest_p_max: Option<Probability>,
        /// Added to p_max when the average is above its target. Default: 0.01.
        increase: Option<f64>,
        /// Factor of p_max when the average is below its target. Default: 0.9.
        decrease: Option<f64>,
        #flatten red: RedKeys,
    }
}

keys! {
    /// Settings of self-configuring RED.
    struct SelfConfiguringRedKeys {
        /// Divisor of p_max when the average falls below `min`. Default: 3.
        alpha: Option<f64>,
        /// Factor of p_max when the average rises above `max`. Default: 2.
        beta: Option<f64>,
        #flatten red: RedKeys,
    }
}

keys! {
    /// Settings of SRED.
    struct SredKeys {
        /// Maximum length, B in the paper. Default: 100 packets.
        limit: Option<Limit>,
        /// Number of remembered flows, M in the paper. Default: 1000.
        zombies: Option<Positive>,
        /// Probability that an arrival of another flow overwrites the remembered one. Default: 0.25.
        overwrite: Option<Probability>,
        /// Probability of a mark from a third of the limit on. Default: 0.15.
        p_max: Option<Probability>,
        /// Number of flows from which on the probability does not grow. Default: 256.
        most_flows: Option<Positive>,
        /// Full SRED: packets of flows with more than their share are chosen more often. Default: true.
        full: Option<bool>,
        /// Treatment of packets that SRED selects. Default: mark.
        action: Option<ActionKeys>,
    }
}

keys! {
    /// Settings of a fixed probability.
    struct FixedProbabilityKeys {
        /// Maximum length. Default: 100 packets.
        limit: Option<Limit>,
        /// The probability for each packet. Default: 0.01.
        probability: Option<Probability>,
        /// Treatment of the packets selected. Default: mark.
        action: Option<ActionKeys>,
    }
}

keys! {
    /// Settings of CoDel.
    struct CoDelKeys {
        /// Maximum length. Default: 1000 packets; fq-codel: 10240 packets and 32 MiB.
        limit: Option<Limit>,
        /// Waiting time that a standing queue may cost. Default: 5ms.
        target: Option<Span>,
        /// How long it must stay above that before the first drop. Default: 100ms.
        interval: Option<Span>,
        /// CoDel drops nothing while at most this many bytes wait. Default: 1514.
        max_packet_bytes: Option<Positive>,
        /// Mark ECN-capable packets instead of dropping them. Default: true.
        ecn: Option<bool>,
    }
}

keys! {
    /// Settings of FQ-CoDel.
    struct FqCoDelKeys {
        /// Number of buckets that flows are hashed into. Default: 1024.
        flows: Option<Positive>,
        /// Bytes that a flow may send in its turn. Default: 1514.
        quantum_bytes: Option<Positive>,
        /// The most packets dropped at once at the limit. Default: 64.
        drop_batch: Option<Positive>,
        /// Changes which flows share a bucket. Default: 0.
        perturbation: Option<u64>,
        #flatten codel: CoDelKeys,
    }
}

keys! {
    /// Settings of PIE.
    struct PieKeys {
        /// Maximum length. Default: 1000 packets.
        limit: Option<Limit>,
        /// The waiting time that PIE steers to. Default: 15ms.
        target: Option<Span>,
        /// Time between updates of the probability. Default: 15ms.
        update_interval: Option<Span>,
        /// Weight of the distance from the target, per second. Default: 0.125.
        alpha: Option<f64>,
        /// Weight of the change since the last update, per second. Default: 1.25.
        beta: Option<f64>,
        /// How long a burst after a quiet time passes untouched. Default: 150ms.
        max_burst: Option<Span>,
        /// PIE drops nothing while at most twice this many bytes wait. Default: 1024.
        mean_packet_bytes: Option<Positive>,
        /// ECN-capable packets are marked up to this probability; 0 never marks. Default: 0.1.
        mark_up_to: Option<Probability>,
        /// Keeps drops from coming too close together or too far apart. Default: true.
        derandomize: Option<bool>,
    }
}

keys! {
    /// Settings of tc-red, under the names of `tc red`. Defaults are those of the example in its manual.
    struct TcRedKeys {
        /// Maximum length. Default: 400kB.
        limit: Option<Bytes>,
        /// Lower threshold of the average. Default: 30kB.
        min: Option<At<Bytes>>,
        /// Upper threshold. Default: 90kB.
        max: Option<At<Bytes>>,
        /// The average size of a packet. Default: 1000.
        avpkt_bytes: Option<Positive>,
        /// Packets that may arrive at once before the average reaches `min`. Default: 55.
        burst: Option<Positive>,
        /// Probability of a mark as the average reaches `max`. Default: 0.02.
        probability: Option<Probability>,
        /// Rate by which idle time is converted to packets. Default: 10Mbit/s, for every link.
        bandwidth: Option<BitRate>,
        /// Mark ECN-capable packets instead of dropping them, above max too. Default: true.
        ecn: Option<bool>,
    }
}

/// A kind of queue with its settings: one of Windlass's, or one of the registry's.
#[derive(Clone, Debug)]
pub(in crate::scenario) enum QueueKind {
    Known(QueueKeys),
    Custom(aqm::Config),
}

impl Decode for QueueKind {
    const EXPECTED: &'static str = QueueKeys::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let kinds = context.registry.queues.clone();
        let known = (QueueKeys::WHAT, QueueKeys::KINDS);
        match custom::find::<_, QueueKeys>(node, context, known, &kinds, &["kind"])? {
            Found::Known => QueueKeys::decode(node, context).map(QueueKind::Known),
            Found::Custom(config) => Some(QueueKind::Custom(config)),
        }
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let known = QueueKeys::schema(definitions);
        custom::schema(known, &definitions.registry.queues)
    }
}

/// The queue of a link: one of `queues` by its name, a kind with its defaults, or its settings.
#[derive(Clone, Debug)]
pub(in crate::scenario) enum QueueRef {
    Name(At<String>),
    Settings(At<QueueKind>),
}

impl Decode for QueueRef {
    const EXPECTED: &'static str = "the name of a queue, or a table with `kind`";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Text(_) => At::decode(node, context).map(QueueRef::Name),
            Value::Table(_) => At::decode(node, context).map(QueueRef::Settings),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        // Any text may be the name of a queue, which a kind's own name is as well.
        json!({ "anyOf": [{ "type": "string" }, QueueKind::schema(definitions)] })
    }
}
