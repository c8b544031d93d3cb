//! The keys of CoDel, which FQ-CoDel takes in as well.

use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{CoDelConfig, CoDelParams, Config};
use windlass_base::Span;
use windlass_keys::{Positive, keys};

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

impl CoDelKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = CoDelConfig::default();
        let limit = self.limit.map_or(default.limit, |limit| limit.0);
        Config::CoDel(CoDelConfig { limit, params: self.params() })
    }

    pub(super) fn params(&self) -> CoDelParams {
        let default = CoDelParams::default();
        CoDelParams {
            target: self.target.unwrap_or(default.target),
            interval: self.interval.unwrap_or(default.interval),
            max_packet_bytes: self.max_packet_bytes.map_or(default.max_packet_bytes, |b| b.0),
            ecn: self.ecn.unwrap_or(default.ecn),
        }
    }
}
