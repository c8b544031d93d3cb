//! The keys of the queue that marks or drops with a fixed probability.

use super::action::ActionKeys;
use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{Config, FixedProbabilityConfig};
use windlass_keys::{Probability, keys};

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

impl FixedProbabilityKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = FixedProbabilityConfig::default();
        Config::FixedProbability(FixedProbabilityConfig {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
            probability: self.probability.map_or(default.probability, |p| p.0),
            action: self.action.map_or(default.action, Into::into),
        })
    }
}
