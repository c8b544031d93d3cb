use super::names::look_up;
use crate::scenario::decode::{At, Context, Decode, Named, Spot};
use crate::scenario::keys::{
    AboveMaxKeys, ActionKeys, AdaptiveRedKeys, CoDelKeys, FixedProbabilityKeys, FqCoDelKeys,
    PieKeys, QueueKeys, QueueKind, QueueRef, RedKeys, SelfConfiguringRedKeys, SredKeys, TcRedKeys,
};
use crate::scenario::registry::Settings;
use crate::scenario::tree::Node;
use crate::scenario::units::{Bytes, Threshold};
use windlass_aqm as aqm;
use windlass_aqm::Limit;
use windlass_base::BitRate;

/// The named queues: those of the file, and each kind with its defaults.
pub(super) struct Queues {
    names: Vec<String>,
    configs: Vec<aqm::Config>,
}

impl Queues {
    pub(super) fn new(named: Option<&Named<QueueKind>>, context: &mut Context) -> Queues {
        let mut queues = Queues { names: Vec::new(), configs: Vec::new() };
        for (name, keys) in named.map_or(&[][..], |named| &named.0) {
            if QueueKeys::KINDS.contains(&name.as_str()) {
                let message = format!("{name:?} is the name of a kind; choose another name");
                context.wrong_at(&keys.spot, message);
                continue;
            }
            queues.names.push(name.clone());
            queues.configs.push(config(&keys.value, &keys.spot, context));
        }
        // One that requires a setting has no defaults, and cannot be meant by its name alone.
        for kind in &context.registry.queues {
            if let Ok(config) = (kind.build)(Settings::new()) {
                queues.names.push(kind.name.to_owned());
                queues.configs.push(config);
            }
        }
        for (kind, config) in QueueKeys::KINDS.iter().zip(defaults()) {
            queues.names.push((*kind).to_owned());
            queues.configs.push(config);
        }
        queues
    }

    /// The queue of a link with this rate.
    pub(super) fn resolve(
        &self,
        queue: &QueueRef,
        rate: Option<BitRate>,
        context: &mut Context,
    ) -> Option<aqm::Config> {
        let (config, spot) = match queue {
            QueueRef::Name(name) => {
                let index = look_up(name, "the name of a queue", &self.names, context)?;
                (self.configs[index].clone(), &name.spot)
            }
            QueueRef::Settings(At { value, spot }) => (config(value, spot, context), spot),
        };
        if let aqm::Config::Red(aqm::RedConfig { weight: None, .. }) = config
            && rate.is_none()
        {
            let message = "the weight comes from the link's rate: expected a rate on this link";
            context.wrong_at(spot, message.into());
        }
        Some(config)
    }
}

/// Each kind's defaults, in the order of [`QueueKeys::KINDS`].
fn defaults() -> [aqm::Config; 10] {
    [
        aqm::Config::DropTail(aqm::DropTailConfig::default()),
        aqm::Config::Red(aqm::RedConfig::default()),
        aqm::Config::Red(aqm::RedConfig::adaptive()),
        aqm::Config::Red(aqm::RedConfig::self_configuring()),
        aqm::Config::Sred(aqm::SredConfig::default()),
        aqm::Config::FixedProbability(aqm::FixedProbabilityConfig::default()),
        aqm::Config::CoDel(aqm::CoDelConfig::default()),
        aqm::Config::FqCoDel(aqm::FqCoDelConfig::default()),
        aqm::Config::Pie(aqm::PieConfig::default()),
        aqm::Config::TcRed(aqm::TcRedConfig::default()),
    ]
}

/// A queue outside a scenario.
pub(in crate::scenario) fn queue(node: &Node, context: &mut Context) -> Option<aqm::Config> {
    let At { value, spot } = At::<QueueKind>::decode(node, context)?;
    Some(config(&value, &spot, context))
}

fn config(kind: &QueueKind, spot: &Spot, context: &mut Context) -> aqm::Config {
    let keys = match kind {
        QueueKind::Custom(config) => return config.clone(),
        QueueKind::Known(keys) => keys,
    };
    let config = match keys {
        QueueKeys::DropTail(keys) => {
            let default = aqm::DropTailConfig::default();
            aqm::Config::DropTail(aqm::DropTailConfig {
                limit: keys.limit.unwrap_or(default.limit),
            })
        }
        QueueKeys::Red(keys) => aqm::Config::Red(red(keys, aqm::RedConfig::default(), context)),
        QueueKeys::AdaptiveRed(keys) => aqm::Config::Red(adaptive_red(keys, context)),
        QueueKeys::SelfConfiguringRed(keys) => {
            aqm::Config::Red(self_configuring_red(keys, context))
        }
        QueueKeys::Sred(keys) => aqm::Config::Sred(sred(keys)),
        QueueKeys::FixedProbability(keys) => aqm::Config::FixedProbability(fixed_probability(keys)),
        QueueKeys::CoDel(keys) => aqm::Config::CoDel(codel(keys)),
        QueueKeys::FqCoDel(keys) => aqm::Config::FqCoDel(fq_codel(keys)),
        QueueKeys::Pie(keys) => aqm::Config::Pie(pie(keys)),
        QueueKeys::TcRed(keys) => aqm::Config::TcRed(tc_red(keys, context)),
    };
    if let Err(error) = config.validate() {
        context.wrong_at(spot, error.to_string());
    }
    config
}

fn codel(keys: &CoDelKeys) -> aqm::CoDelConfig {
    let default = aqm::CoDelConfig::default();
    aqm::CoDelConfig {
        limit: keys.limit.unwrap_or(default.limit),
        params: aqm::CoDelParams {
            target: keys.target.unwrap_or(default.params.target),
            interval: keys.interval.unwrap_or(default.params.interval),
            max_packet_bytes: keys
                .max_packet_bytes
                .map_or(default.params.max_packet_bytes, |bytes| bytes.0),
            ecn: keys.ecn.unwrap_or(default.params.ecn),
        },
    }
}

fn fq_codel(keys: &FqCoDelKeys) -> aqm::FqCoDelConfig {
    let default = aqm::FqCoDelConfig::default();
    let (limit_packets, limit_bytes) = match keys.codel.limit {
        Some(Limit::Packets(packets)) => (packets, u64::MAX),
        Some(Limit::Bytes(bytes)) => (u32::MAX, bytes),
        None => (default.limit_packets, default.limit_bytes),
    };
    aqm::FqCoDelConfig {
        limit_packets,
        limit_bytes,
        flows: keys.flows.map_or(default.flows, |flows| flows.0),
        quantum_bytes: keys.quantum_bytes.map_or(default.quantum_bytes, |bytes| bytes.0),
        drop_batch: keys.drop_batch.map_or(default.drop_batch, |batch| batch.0),
        perturbation: keys.perturbation.unwrap_or(default.perturbation),
        codel: codel(&keys.codel).params,
    }
}

fn pie(keys: &PieKeys) -> aqm::PieConfig {
    let default = aqm::PieConfig::default();
    let mean_packet_bytes = keys.mean_packet_bytes.map(|bytes| bytes.0);
    aqm::PieConfig {
        limit: keys.limit.unwrap_or(default.limit),
        target: keys.target.unwrap_or(default.target),
        update_interval: keys.update_interval.unwrap_or(default.update_interval),
        alpha: keys.alpha.unwrap_or(default.alpha),
        beta: keys.beta.unwrap_or(default.beta),
        max_burst: keys.max_burst.unwrap_or(default.max_burst),
        mean_packet_bytes: mean_packet_bytes.unwrap_or(default.mean_packet_bytes),
        mark_up_to: match keys.mark_up_to {
            Some(probability) => Some(probability.0).filter(|p| *p > 0.0),
            None => default.mark_up_to,
        },
        derandomize: keys.derandomize.unwrap_or(default.derandomize),
    }
}

fn red(keys: &RedKeys, default: aqm::RedConfig, context: &mut Context) -> aqm::RedConfig {
    let (min, unit) = keys.min.map_or((default.min, default.unit), in_unit);
    let max = keys.max.as_ref().map_or(default.max, |max| {
        let (value, max_unit) = in_unit(max.value);
        if max_unit != unit {
            context.wrong_at(&max.spot, "expected a threshold in the unit of `min`".into());
        }
        Some(value)
    });
    aqm::RedConfig {
        limit: keys.limit.unwrap_or(default.limit),
        unit,
        min,
        max,
        weight: keys.weight.or(default.weight),
        max_p: keys.p_max.map_or(default.max_p, |p_max| p_max.0),
        mean_packet_bytes: keys.mean_packet_bytes.map_or(default.mean_packet_bytes, |b| b.0),
        action: keys.action.map_or(default.action, action),
        spacing: match keys.wait {
            Some(true) => aqm::Spacing::Wait,
            Some(false) => aqm::Spacing::NoWait,
            None => default.spacing,
        },
        gentle: keys.gentle.unwrap_or(default.gentle),
        above_max: match keys.above_max {
            Some(AboveMaxKeys::DropAll) => aqm::AboveMax::DropAll,
            Some(AboveMaxKeys::MarkEct) => aqm::AboveMax::MarkEct,
            None => default.above_max,
        },
        adaptation: default.adaptation,
    }
}

fn action(keys: ActionKeys) -> aqm::EarlyAction {
    match keys {
        ActionKeys::Drop => aqm::EarlyAction::Drop,
        ActionKeys::Mark => aqm::EarlyAction::Mark,
    }
}

fn tc_red(keys: &TcRedKeys, context: &mut Context) -> aqm::TcRedConfig {
    let default = aqm::TcRedConfig::default();
    let mut threshold = |key: &Option<At<Bytes>>, default: u32| {
        let Some(At { value: Bytes(bytes), spot }) = key else { return default };
        u32::try_from(*bytes).unwrap_or_else(|_| {
            context.wrong_at(spot, "expected less than 4 GiB".into());
            default
        })
    };
    aqm::TcRedConfig {
        limit_bytes: keys.limit.map_or(default.limit_bytes, |limit| limit.0),
        min_bytes: threshold(&keys.min, default.min_bytes),
        max_bytes: threshold(&keys.max, default.max_bytes),
        avpkt_bytes: keys.avpkt_bytes.map_or(default.avpkt_bytes, |bytes| bytes.0),
        burst: keys.burst.map_or(default.burst, |burst| burst.0),
        probability: keys.probability.map_or(default.probability, |p| p.0),
        bandwidth: keys.bandwidth.unwrap_or(default.bandwidth),
        ecn: keys.ecn.unwrap_or(default.ecn),
    }
}

fn in_unit(threshold: Threshold) -> (f64, aqm::Unit) {
    match threshold {
        Threshold::Packets(packets) => (packets, aqm::Unit::Packets),
        Threshold::Bytes(bytes) => (bytes, aqm::Unit::Bytes),
    }
}

fn adaptive_red(keys: &AdaptiveRedKeys, context: &mut Context) -> aqm::RedConfig {
    let default = aqm::AdaptiveConfig::default();
    let adaptive = aqm::AdaptiveConfig {
        interval: keys.interval.unwrap_or(default.interval),
        lowest_max_p: keys.lowest_p_max.map_or(default.lowest_max_p, |p| p.0),
        highest_max_p: keys.highest_p_max.map_or(default.highest_max_p, |p| p.0),
        increase: keys.increase.unwrap_or(default.increase),
        decrease: keys.decrease.unwrap_or(default.decrease),
    };
    let adaptation = Some(aqm::Adaptation::Floyd(adaptive));
    let base = aqm::RedConfig { adaptation, ..aqm::RedConfig::adaptive() };
    red(&keys.red, base, context)
}

fn self_configuring_red(keys: &SelfConfiguringRedKeys, context: &mut Context) -> aqm::RedConfig {
    let default = aqm::SelfConfiguringConfig::default();
    let adaptation = Some(aqm::Adaptation::Feng(aqm::SelfConfiguringConfig {
        alpha: keys.alpha.unwrap_or(default.alpha),
        beta: keys.beta.unwrap_or(default.beta),
    }));
    let base = aqm::RedConfig { adaptation, ..aqm::RedConfig::self_configuring() };
    red(&keys.red, base, context)
}

fn sred(keys: &SredKeys) -> aqm::SredConfig {
    let default = aqm::SredConfig::default();
    aqm::SredConfig {
        limit: keys.limit.unwrap_or(default.limit),
        zombies: keys.zombies.map_or(default.zombies, |zombies| zombies.0),
        overwrite: keys.overwrite.map_or(default.overwrite, |p| p.0),
        max_p: keys.p_max.map_or(default.max_p, |p| p.0),
        most_flows: keys.most_flows.map_or(default.most_flows, |flows| f64::from(flows.0)),
        full: keys.full.unwrap_or(default.full),
        action: keys.action.map_or(default.action, action),
    }
}

fn fixed_probability(keys: &FixedProbabilityKeys) -> aqm::FixedProbabilityConfig {
    let default = aqm::FixedProbabilityConfig::default();
    aqm::FixedProbabilityConfig {
        limit: keys.limit.unwrap_or(default.limit),
        probability: keys.probability.map_or(default.probability, |p| p.0),
        action: keys.action.map_or(default.action, action),
    }
}
