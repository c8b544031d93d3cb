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
