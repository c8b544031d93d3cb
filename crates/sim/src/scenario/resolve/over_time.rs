//! Checks the variations of a link over time.

use crate::scenario::decode::{At, Context, Decode};
use crate::scenario::keys::{
    AggregationKeys, DelayKeys, LinkOverTimeKeys, OutageKeys, OverTimeKeys, RateKeys,
    TokenBucketKeys,
};
use crate::scenario::tree::Node;
use windlass_base::{BitRate, Span};
use windlass_link_model::{Aggregation, ConfigError, Outage, TokenBucket, Variation};

/// A link's rate, delay and variation from a table that has only those keys.
pub(in crate::scenario) fn link_over_time(
    node: &Node,
    context: &mut Context,
) -> Option<(Option<BitRate>, Span, Variation)> {
    let keys = LinkOverTimeKeys::decode(node, context)?;
    let variation = Variation {
        rate: keys.rate.as_ref().and_then(RateKeys::over_time),
        delay: keys.delay.as_ref().and_then(DelayKeys::over_time),
        ..variation(&keys.over_time, context)
    };
    let delay = keys.delay.as_ref().map_or(Span::ZERO, DelayKeys::least);
    Some((keys.rate.as_ref().map(RateKeys::mean), delay, variation))
}

/// Everything but rate and delay.
pub(super) fn variation(keys: &OverTimeKeys, context: &mut Context) -> Variation {
    Variation {
        shaper: keys.shaper.as_ref().and_then(|keys| token_bucket(keys, context)),
        policer: keys.policer.as_ref().and_then(|keys| token_bucket(keys, context)),
        aggregation: keys.aggregation.as_ref().and_then(|keys| aggregation(keys, context)),
        outages: keys.outages.iter().filter_map(|keys| outage(keys, context)).collect(),
        ..Variation::default()
    }
}

/// The settings if they work; reports the problem otherwise.
fn checked<K, T>(
    At { spot, .. }: &At<K>,
    settings: T,
    validate: fn(&T) -> Result<(), ConfigError>,
    context: &mut Context,
) -> Option<T> {
    validate(&settings).map_err(|error| context.wrong_at(spot, error.to_string())).ok()?;
    Some(settings)
}

fn token_bucket(keys: &At<TokenBucketKeys>, context: &mut Context) -> Option<TokenBucket> {
    let TokenBucketKeys { rate, burst } = keys.value;
    let bucket = TokenBucket { rate, burst_bytes: burst.0 };
    checked(keys, bucket, TokenBucket::validate, context)
}

fn aggregation(keys: &At<AggregationKeys>, context: &mut Context) -> Option<Aggregation> {
    let settings = match &keys.value {
        AggregationKeys::Wifi => Aggregation::WIFI,
        AggregationKeys::Lte => Aggregation::LTE,
        AggregationKeys::Releases(releases) => Aggregation {
            interval: releases.interval,
            max_interval: releases.max_interval.unwrap_or(releases.interval),
            packets: releases.packets.map(|packets| packets.0),
            bytes: releases.bytes.map(|bytes| bytes.0),
        },
    };
    checked(keys, settings, Aggregation::validate, context)
}

fn outage(keys: &At<OutageKeys>, context: &mut Context) -> Option<Outage> {
    let OutageKeys { at, lasts, every, lose } = keys.value;
    let outage = Outage { at, lasts, every, lose: lose.unwrap_or(false) };
    checked(keys, outage, Outage::validate, context)
}
