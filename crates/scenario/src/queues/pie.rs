//! The keys of PIE.

use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{Config, PieConfig};
use windlass_base::Span;
use windlass_keys::{Positive, Probability, keys};

keys! {
    /// Settings of PIE.
    struct PieKeys {
        /// Maximum length. Default: 1000 packets.
        limit: Option<Limit>,
        /// The waiting time that PIE steers to. Default: 15ms.
        target: Option<Span>,
        /// Time between updates of the probability. Default: 15ms.
        update_interval: Option<Span>,
        /// Weight of the distance from the target, per second. Default: 0.125.
        alpha: Option<f64>,
        /// Weight of the change since the last update, per second. Default: 1.25.
        beta: Option<f64>,
        /// How long a burst after a quiet time passes untouched. Default: 150ms.
        max_burst: Option<Span>,
        /// PIE drops nothing while at most twice this many bytes wait. Default: 1024.
        mean_packet_bytes: Option<Positive>,
        /// ECN-capable packets are marked up to this probability; 0 never marks. Default: 0.1.
        mark_up_to: Option<Probability>,
        /// Keeps drops from coming too close together or too far apart. Default: true.
        derandomize: Option<bool>,
    }
}

impl PieKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = PieConfig::default();
        Config::Pie(PieConfig {
            limit: self.limit.map_or(default.limit, |limit| limit.0),
            target: self.target.unwrap_or(default.target),
            update_interval: self.update_interval.unwrap_or(default.update_interval),
            alpha: self.alpha.unwrap_or(default.alpha),
            beta: self.beta.unwrap_or(default.beta),
            max_burst: self.max_burst.unwrap_or(default.max_burst),
            mean_packet_bytes: self.mean_packet_bytes.map_or(default.mean_packet_bytes, |b| b.0),
            mark_up_to: match self.mark_up_to {
                Some(probability) => Some(probability.0).filter(|p| *p > 0.0),
                None => default.mark_up_to,
            },
            derandomize: self.derandomize.unwrap_or(default.derandomize),
        })
    }
}
