use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{Config, HeadDropConfig};
use windlass_keys::keys;

keys! {
    /// Settings of head-drop.
    struct HeadDropKeys {
        /// Maximum length. Default: 100 packets.
        limit: Option<Limit>,
    }
}

impl HeadDropKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = HeadDropConfig::default();
        Config::HeadDrop(HeadDropConfig {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
        })
    }
}
