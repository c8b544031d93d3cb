//! The keys of the three kinds of RED, which share those of the first.

use super::action::ActionKeys;
use crate::registry::Context;
use crate::units::{Limit, Threshold};
use windlass_aqm::{
    AboveMax, Adaptation, AdaptiveConfig, Config, RedConfig, SelfConfiguringConfig, Spacing, Unit,
};
use windlass_base::Span;
use windlass_keys::{Located, Positive, Probability, keys, words};

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
        max: Option<Located<Threshold>>,
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

impl RedKeys {
    pub(super) fn config(&self, context: &mut Context) -> Config {
        self.over(RedConfig::default(), context)
    }

    /// The settings, and those of `default` for what is not set.
    fn over(&self, default: RedConfig, context: &mut Context) -> Config {
        let (min, unit) = self.min.map_or((default.min, default.unit), in_unit);
        let max = self.max.as_ref().map_or(default.max, |max| {
            let (value, max_unit) = in_unit(max.value);
            if max_unit != unit {
                context.wrong_at(&max.location, "expected a threshold in the unit of `min`".into());
            }
            Some(value)
        });
        Config::Red(RedConfig {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
            unit,
            min,
            max,
            weight: self.weight.or(default.weight),
            max_p: self.p_max.map_or(default.max_p, |p_max| p_max.0),
            mean_packet_bytes: self.mean_packet_bytes.map_or(default.mean_packet_bytes, |b| b.0),
            action: self.action.map_or(default.action, Into::into),
            spacing: match self.wait {
                Some(true) => Spacing::Wait,
                Some(false) => Spacing::NoWait,
                None => default.spacing,
            },
            gentle: self.gentle.unwrap_or(default.gentle),
            above_max: match self.above_max {
                Some(AboveMaxKeys::DropAll) => AboveMax::DropAll,
                Some(AboveMaxKeys::MarkEct) => AboveMax::MarkEct,
                None => default.above_max,
            },
            adaptation: default.adaptation,
        })
    }
}

fn in_unit(threshold: Threshold) -> (f64, Unit) {
    match threshold {
        Threshold::Packets(packets) => (packets, Unit::Packets),
        Threshold::Bytes(bytes) => (bytes, Unit::Bytes),
    }
}

impl AdaptiveRedKeys {
    pub(super) fn config(&self, context: &mut Context) -> Config {
        let default = AdaptiveConfig::default();
        let adaptation = Some(Adaptation::Floyd(AdaptiveConfig {
            interval: self.interval.unwrap_or(default.interval),
            lowest_max_p: self.lowest_p_max.map_or(default.lowest_max_p, |p| p.0),
            highest_max_p: self.highest_p_max.map_or(default.highest_max_p, |p| p.0),
            increase: self.increase.unwrap_or(default.increase),
            decrease: self.decrease.unwrap_or(default.decrease),
        }));
        self.red.over(RedConfig { adaptation, ..RedConfig::adaptive() }, context)
    }
}

impl SelfConfiguringRedKeys {
    pub(super) fn config(&self, context: &mut Context) -> Config {
        let default = SelfConfiguringConfig::default();
        let adaptation = Some(Adaptation::Feng(SelfConfiguringConfig {
            alpha: self.alpha.unwrap_or(default.alpha),
            beta: self.beta.unwrap_or(default.beta),
        }));
        self.red.over(RedConfig { adaptation, ..RedConfig::self_configuring() }, context)
    }
}
