//! The keys of DualPI2.

use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{Config, Decides, DualPi2Config, LowLatency, Overload, Step};
use windlass_base::Span;
use windlass_keys::{Located, Positive, Probability, keys, words};

words! {
    /// The packets of the low-latency queue.
    enum LowLatencyKeys as "packets of low latency" {
        /// ECT(1) and CE.
        Ect1 = "ect1",
        /// Every ECN-capable packet.
        AnyEct = "any-ect",
    }
}

words! {
    /// How DualPI2 reacts to an overload.
    enum OverloadKeys as "a reaction to an overload" {
        /// Drop packets of both queues with the classic probability.
        Drop = "drop",
        /// Mark ECN-capable packets, until the limit drops them.
        Overflow = "overflow",
    }
}

words! {
    /// When DualPI2 chooses a packet by probability.
    enum DecidesKeys as "a moment of the decision" {
        /// Before it enters a queue.
        Enqueue = "enqueue",
        /// When it leaves.
        Dequeue = "dequeue",
    }
}

keys! {
    /// Settings of DualPI2.
    struct DualPi2Keys {
        /// Maximum length of both queues together. Default: 10000 packets.
        limit: Option<Limit>,
        /// The waiting time that the PI controller steers to. Default: 15ms.
        target: Option<Span>,
        /// Time between updates of the base probability. Default: 16ms.
        update_interval: Option<Span>,
        /// Weight of the distance from the target, per second. Default: 0.16.
        alpha: Option<f64>,
        /// Weight of the change since the last update, per second. Default: 3.2.
        beta: Option<f64>,
        /// Ratio of the probability of a mark in the low-latency queue to the base probability. Default: 2.
        coupling: Option<f64>,
        /// The low-latency queue marks every packet that has waited longer. Default: 1ms.
        step: Option<Span>,
        /// Mark instead where more packets than this wait behind it.
        step_packets: Option<Located<u32>>,
        /// The step marks only packets that find this many in the low-latency queue. Default: 0.
        step_from_packets: Option<u32>,
        /// The packets of the low-latency queue. Default: ect1.
        low_latency: Option<LowLatencyKeys>,
        /// Share of the link that the classic queue has at least while both wait. Default: 0.1.
        classic_share: Option<Probability>,
        /// No drop or mark by probability while less than two packets of this size wait. Default: 1500.
        mtu_bytes: Option<Positive>,
        /// Reaction to an overload. Default: drop.
        overload: Option<OverloadKeys>,
        /// When a packet is chosen by probability. Default: dequeue.
        decides: Option<DecidesKeys>,
    }
}

impl DualPi2Keys {
    pub(super) fn config(&self, context: &mut Context) -> Config {
        let default = DualPi2Config::default();
        Config::DualPi2(DualPi2Config {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
            target: self.target.unwrap_or(default.target),
            update_interval: self.update_interval.unwrap_or(default.update_interval),
            alpha: self.alpha.unwrap_or(default.alpha),
            beta: self.beta.unwrap_or(default.beta),
            coupling: self.coupling.unwrap_or(default.coupling),
            step: self.step(context).unwrap_or(default.step),
            step_from_packets: self.step_from_packets.unwrap_or(default.step_from_packets),
            low_latency: self.low_latency.map_or(default.low_latency, LowLatency::from),
            classic_share: self.classic_share.map_or(default.classic_share, |share| share.0),
            mtu_bytes: self.mtu_bytes.map_or(default.mtu_bytes, |bytes| bytes.0),
            overload: self.overload.map_or(default.overload, Overload::from),
            decides: self.decides.map_or(default.decides, Decides::from),
        })
    }

    fn step(&self, context: &mut Context) -> Option<Step> {
        if let (Some(_), Some(packets)) = (self.step, &self.step_packets) {
            let message = "expected either `step` or `step_packets`";
            context.wrong_at(&packets.location, message.into());
        }
        let packets = self.step_packets.as_ref().map(|packets| Step::Packets(packets.value));
        packets.or(self.step.map(Step::Time))
    }
}

impl From<LowLatencyKeys> for LowLatency {
    fn from(keys: LowLatencyKeys) -> LowLatency {
        match keys {
            LowLatencyKeys::Ect1 => LowLatency::Ect1,
            LowLatencyKeys::AnyEct => LowLatency::AnyEct,
        }
    }
}

impl From<OverloadKeys> for Overload {
    fn from(keys: OverloadKeys) -> Overload {
        match keys {
            OverloadKeys::Drop => Overload::Drop,
            OverloadKeys::Overflow => Overload::Overflow,
        }
    }
}

impl From<DecidesKeys> for Decides {
    fn from(keys: DecidesKeys) -> Decides {
        match keys {
            DecidesKeys::Enqueue => Decides::Enqueue,
            DecidesKeys::Dequeue => Decides::Dequeue,
        }
    }
}
