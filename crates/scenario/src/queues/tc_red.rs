//! The keys of `tc red`, under the names that tc gives them.

use crate::registry::Context;
use windlass_aqm::{Config, TcRedConfig};
use windlass_base::BitRate;
use windlass_keys::{Bytes, Located, Positive, Probability, keys};

keys! {
    /// Settings of tc-red, under the names of `tc red`. Defaults are those of the example in its manual.
    struct TcRedKeys {
        /// Maximum length. Default: 400kB.
        limit: Option<Bytes>,
        /// Lower threshold of the average. Default: 30kB.
        min: Option<Located<Bytes>>,
        /// Upper threshold. Default: 90kB.
        max: Option<Located<Bytes>>,
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

impl TcRedKeys {
    pub(super) fn config(&self, context: &mut Context) -> Config {
        let default = TcRedConfig::default();
        let mut threshold = |key: &Option<Located<Bytes>>, default: u32| {
            let Some(Located { value: Bytes(bytes), location }) = key else { return default };
            u32::try_from(*bytes).unwrap_or_else(|_| {
                context.wrong_at(location, "expected less than 4 GiB".into());
                default
            })
        };
        Config::TcRed(TcRedConfig {
            limit_bytes: self.limit.map_or(default.limit_bytes, |limit| limit.0),
            min_bytes: threshold(&self.min, default.min_bytes),
            max_bytes: threshold(&self.max, default.max_bytes),
            avpkt_bytes: self.avpkt_bytes.map_or(default.avpkt_bytes, |bytes| bytes.0),
            burst: self.burst.map_or(default.burst, |burst| burst.0),
            probability: self.probability.map_or(default.probability, |p| p.0),
            bandwidth: self.bandwidth.unwrap_or(default.bandwidth),
            ecn: self.ecn.unwrap_or(default.ecn),
        })
    }
}
