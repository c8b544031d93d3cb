use serde::{Deserialize, Serialize};
use windlass_tou::{Distribution, Span};

/// The distribution of a connection's round-trip times, as the ends exchange it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RttSamples {
    /// The mean.
    pub mean_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// 90 % of the samples are not above.
    pub p90_ns: u64,
    /// 95 %.
    pub p95_ns: u64,
    /// 99 %.
    pub p99_ns: u64,
    /// 99.9 %.
    pub p99_9_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl From<Distribution> for RttSamples {
    fn from(of: Distribution) -> RttSamples {
        RttSamples {
            mean_ns: of.mean.as_nanos(),
            p50_ns: of.p50.as_nanos(),
            p90_ns: of.p90.as_nanos(),
            p95_ns: of.p95.as_nanos(),
            p99_ns: of.p99.as_nanos(),
            p99_9_ns: of.p99_9.as_nanos(),
            max_ns: of.max.as_nanos(),
        }
    }
}

impl From<RttSamples> for Distribution {
    fn from(of: RttSamples) -> Distribution {
        Distribution {
            mean: Span::from_nanos(of.mean_ns),
            p50: Span::from_nanos(of.p50_ns),
            p90: Span::from_nanos(of.p90_ns),
            p95: Span::from_nanos(of.p95_ns),
            p99: Span::from_nanos(of.p99_ns),
            p99_9: Span::from_nanos(of.p99_9_ns),
            max: Span::from_nanos(of.max_ns),
        }
    }
}
