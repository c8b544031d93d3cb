//! The keys of nodes, links and the shorthands for topologies.

use super::over_time::{DelayKeys, OverTimeKeys, RateKeys};
use crate::queues::QueueRef;
use crate::registry::{Context, Registry};
use serde_json::json;
use windlass_base::{BitRate, Span};
use windlass_keys::{
    Decode, Definitions, Keys, Located, Name, Node, Positive, Probability, Value, keys,
};

keys! {
    /// Senders s1, s2, ... at router r1, behind the bottleneck the receiver d. With `receivers`
    /// the bottleneck ends at router r2, and s1 faces d1, s2 faces d2, ...
    struct DumbbellKeys {
        /// The link that all flows share.
        bottleneck: PathKeys,
        /// The senders' links to r1, one entry a sender.
        access: Vec<Located<AccessKeys>>,
        /// The links from r2 to the receivers, one entry a receiver.
        receivers: Vec<Located<AccessKeys>>,
    }
}

keys! {
    /// Routers r1, r2, ... in a row. A flow from s0 to d0 crosses all bottlenecks; one from s1 to
    /// d1 the first only, from s2 to d2 the second, and so on.
    struct ParkingLotKeys {
        /// Number of bottlenecks.
        hops: Located<Positive>,
        /// Each of the bottlenecks.
        bottleneck: PathKeys,
        /// Every host's link to its router.
        access: PathKeys,
    }
}

keys! {
    /// A link of hosts to a router.
    struct AccessKeys {
        /// Number of hosts with such a link. Default: 1.
        count: Option<Positive>,
        /// With `count`: the last one's delay; those between are evenly spaced.
        delay_to: Option<Located<Span>>,
        #flatten path: PathKeys,
    }
}

keys! {
    /// A full-duplex link between two nodes.
    struct LinkKeys {
        /// One end.
        a: Located<String>,
        /// The other end.
        b: Located<String>,
        /// Its name in results. Default: A-B.
        name: Option<Located<Name>>,
        #flatten path: PathKeys,
    }
}

keys! {
    /// Properties of a link. Rate, delay, queue and device queue are the same both ways unless
    /// `back` says otherwise; all else holds forward only.
    struct PathKeys {
        /// Rate, or rate over time. Default: unlimited, so that no queue builds.
        rate: Option<RateKeys>,
        /// Propagation delay, or delay over time.
        delay: DelayKeys,
        /// The queue in front of it. Default: droptail.
        queue: Option<QueueRef>,
        /// The device's own queue ahead of the wire, such as a network card's ring: as much as the
        /// device sends in this time. Default: none.
        device_queue: Option<Span>,
        /// Loss after the queue. Default: none.
        loss: Option<LossKeys>,
        /// Reordering after the queue. Default: none.
        reorder: Option<ReorderKeys>,
        /// Clear the ECN codepoint of each packet after the queue. Default: false.
        bleach_ecn: Option<bool>,
        /// Changes of the rate and the delay at the same time, in order; both ways. Default: none.
        handovers: Vec<Located<HandoverKeys>>,
        /// The way back.
        back: Option<BackKeys>,
        #flatten over_time: OverTimeKeys,
    }
}

keys! {
    /// The way back of a link, where it differs.
    struct BackKeys {
        /// Rate. Default: as forward.
        rate: Option<RateKeys>,
        /// Propagation delay. Default: as forward.
        delay: Option<DelayKeys>,
        /// The queue. Default: as forward.
        queue: Option<QueueRef>,
        /// The device's own queue ahead of the wire. Default: as forward.
        device_queue: Option<Span>,
        /// Loss after the queue. Default: none.
        loss: Option<LossKeys>,
        /// Reordering after the queue. Default: none.
        reorder: Option<ReorderKeys>,
        /// Clear the ECN codepoint of each packet after the queue. Default: false.
        bleach_ecn: Option<bool>,
        #flatten over_time: OverTimeKeys,
    }
}

keys! {
    /// A change of a link's rate and delay, as from one network or base station to another.
    struct HandoverKeys {
        /// When it happens.
        at: Span,
        /// The rate from then on, both ways unless `back` of the link has a rate. Default: as before.
        rate: Option<BitRate>,
        /// The delay from then on, both ways unless `back` of the link has a delay. Default: as before.
        delay: Option<Span>,
        /// How long the link carries nothing, both ways, from then on. Default: no interruption.
        interruption: Option<Span>,
        /// True: what the link transmits in the interruption is lost. False: packets wait in the queue.
        /// Default: false.
        lose: Option<bool>,
        /// The way back, where it changes in another way.
        back: Option<HandoverBackKeys>,
    }
}

keys! {
    /// The change of the way back.
    struct HandoverBackKeys {
        /// The rate from then on.
        rate: Option<BitRate>,
        /// The delay from then on.
        delay: Option<Span>,
    }
}

keys! {
    /// Some packets arrive later.
    struct ReorderKeys {
        /// Share of the packets.
        probability: Probability,
        /// Maximum extra delay; each packet's is a uniform draw from zero to this.
        max_extra_delay: Span,
    }
}

keys! {
    /// Loss of the packets with these ordinals; the first to enter the link is 1.
    struct ListedLossKeys {
        /// Ordinals of the lost packets.
        packets: Vec<u64>,
    }
}

keys! {
    /// Loss in bursts, by the model of Gilbert and Elliott: two states, of which one may follow the
    /// other after each packet. A link begins in the good one.
    struct BurstLossKeys {
        /// Probability per packet that the good state ends.
        good_to_bad: Probability,
        /// Probability per packet that the bad state ends: one over the mean length of a burst.
        bad_to_good: Probability,
        /// Loss in the good state. Default: 0.
        loss_good: Option<Probability>,
        /// Loss in the bad state. Default: 1.
        loss_bad: Option<Probability>,
    }
}

/// Loss: a probability, a list, or bursts.
#[derive(Clone, Debug)]
pub(crate) enum LossKeys {
    Random(f64),
    Listed(Vec<u64>),
    Bursts(BurstLossKeys),
}

impl Decode<Registry> for LossKeys {
    const EXPECTED: &'static str = "a probability from 0 to 1, { packets = [...] } \
         or { good_to_bad = P, bad_to_good = P }";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Table(_) if names_a_burst(node) => {
                BurstLossKeys::decode(node, context).map(LossKeys::Bursts)
            }
            Value::Table(_) => {
                let listed = ListedLossKeys::decode(node, context)?;
                let mut packets = listed.packets;
                packets.sort_unstable();
                packets.dedup();
                if packets.first() == Some(&0) {
                    context.wrong(node.position, "packets are counted from 1, found 0".to_owned());
                    return None;
                }
                Some(LossKeys::Listed(packets))
            }
            Value::Integer(_) | Value::Float(_) => Probability::decode(node, context)
                .map(|probability| LossKeys::Random(probability.0)),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let random = Probability::schema(definitions);
        let listed = ListedLossKeys::schema(definitions);
        json!({ "oneOf": [random, listed, BurstLossKeys::schema(definitions)] })
    }
}

fn names_a_burst(node: &Node) -> bool {
    let names = <BurstLossKeys as Keys<Registry>>::names();
    names.into_iter().any(|name| node.get(name).is_some())
}
