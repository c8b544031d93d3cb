//! The keys of FQ-CoDel: CoDel's own, and those of its flows.

use super::codel::CoDelKeys;
use crate::registry::Context;
use crate::units::Limit;
use windlass_aqm::{self as aqm, Config, FqCoDelConfig};
use windlass_keys::{Positive, keys};

keys! {
    /// Settings of FQ-CoDel.
    struct FqCoDelKeys {
        /// Number of buckets that flows are hashed into. Default: 1024.
        flows: Option<Positive>,
        /// Bytes that a flow may send in its turn. Default: 1514.
        quantum_bytes: Option<Positive>,
        /// The most packets dropped at once at the limit. Default: 64.
        drop_batch: Option<Positive>,
        /// Changes which flows share a bucket. Default: 0.
        perturbation: Option<u64>,
        #flatten codel: CoDelKeys,
    }
}

impl FqCoDelKeys {
    pub(super) fn config(&self, _: &mut Context) -> Config {
        let default = FqCoDelConfig::default();
        let (limit_packets, limit_bytes) = match self.codel.limit {
            Some(Limit(aqm::Limit::Packets(packets))) => (packets, u64::MAX),
            Some(Limit(aqm::Limit::Bytes(bytes))) => (u32::MAX, bytes),
            None => (default.limit_packets, default.limit_bytes),
        };
        Config::FqCoDel(FqCoDelConfig {
            limit_packets,
            limit_bytes,
            flows: self.flows.map_or(default.flows, |flows| flows.0),
            quantum_bytes: self.quantum_bytes.map_or(default.quantum_bytes, |bytes| bytes.0),
            drop_batch: self.drop_batch.map_or(default.drop_batch, |batch| batch.0),
            perturbation: self.perturbation.unwrap_or(default.perturbation),
            codel: self.codel.params(),
        })
    }
}
