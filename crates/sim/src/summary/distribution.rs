//! Distributions as objects of figures in milliseconds.

use serde::Serializer;
use windlass_base::Distribution;

/// Serialises a distribution as an object of figures in milliseconds; `null` without samples.
pub(super) fn in_ms<S: Serializer>(
    distribution: &Option<Distribution>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match distribution {
        Some(distribution) => serializer.collect_map(distribution.named_ms()),
        None => serializer.serialize_none(),
    }
}

/// Serialises a distribution of ratios, each kept as so many seconds, as an object of plain figures.
pub(super) fn ratios<S: Serializer>(
    distribution: &Option<Distribution>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let ratio = |(name, ms): (&'static str, f64)| (name, ms / 1e3);
    match distribution {
        Some(distribution) => serializer.collect_map(distribution.named_ms().map(ratio)),
        None => serializer.serialize_none(),
    }
}
