//! The keys of Stabilized RED.

use super::action::ActionKeys;
use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{Config, SredConfig};
use windlass_keys::{Positive, Probability, keys};

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

impl SredKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = SredConfig::default();
        Config::Sred(SredConfig {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
            zombies: self.zombies.map_or(default.zombies, |zombies| zombies.0),
            overwrite: self.overwrite.map_or(default.overwrite, |p| p.0),
            max_p: self.p_max.map_or(default.max_p, |p| p.0),
            most_flows: self.most_flows.map_or(default.most_flows, |flows| f64::from(flows.0)),
            full: self.full.unwrap_or(default.full),
            action: self.action.map_or(default.action, Into::into),
        })
    }
}
