//! The keys of DropTail.

use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{Config, DropTailConfig};
use windlass_keys::keys;

keys! {
    /// Settings of DropTail.
    struct DropTailKeys {
        /// Maximum length. Default: 100 packets.
        limit: Option<Limit>,
    }
}

impl DropTailKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = DropTailConfig::default();
        Config::DropTail(DropTailConfig {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
        })
    }
}
