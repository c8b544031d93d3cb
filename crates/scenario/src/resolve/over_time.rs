//! Checks the variations of a link over time.

use crate::keys::{
    AggregationKeys, DelayKeys, LinkOverTimeKeys, OutageKeys, OverTimeKeys, RateKeys,
    TokenBucketKeys,
};
use crate::registry::{Context, Registry};
use windlass_base::{BitRate, Span};
use windlass_keys::{Definitions, Keys, Located, Node};
use windlass_link_model::{Aggregation, ConfigError, Outage, TokenBucket, Variation};

/// A link's rate, delay and what changes over time, where it is described outside a scenario: a table
/// with the keys `rate`, `delay`, `shaper`, `policer`, `wifi_jitter`, `aggregation` and `outages`, each of
/// which may be absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkOverTime {
    /// The rate, or its mean if it varies; `None`: unlimited.
    pub rate: Option<BitRate>,
    /// The delay, or the least if it varies.
    pub delay: Span,
    /// The rest.
    pub variation: Variation,
}

impl LinkOverTime {
    fn new(keys: &LinkOverTimeKeys, context: &mut Context) -> LinkOverTime {
        LinkOverTime {
            rate: keys.rate.as_ref().map(RateKeys::mean),
            delay: keys.delay.as_ref().map_or(Span::ZERO, DelayKeys::least),
            variation: Variation {
                rate: keys.rate.as_ref().and_then(RateKeys::over_time),
                delay: keys.delay.as_ref().and_then(DelayKeys::over_time),
                ..variation(&keys.over_time, context)
            },
        }
    }
}

impl Keys<Registry> for LinkOverTime {
    fn names() -> Vec<&'static str> {
        <LinkOverTimeKeys as Keys<Registry>>::names()
    }

    fn required() -> Vec<&'static str> {
        <LinkOverTimeKeys as Keys<Registry>>::required()
    }

    fn properties(
        definitions: &mut Definitions<Registry>,
        properties: &mut serde_json::Map<String, serde_json::Value>,
    ) {
        LinkOverTimeKeys::properties(definitions, properties);
    }

    fn read(table: &Node, context: &mut Context) -> Option<Self> {
        LinkOverTimeKeys::read(table, context).map(|keys| LinkOverTime::new(&keys, context))
    }
}

/// Everything but rate and delay.
pub(super) fn variation(keys: &OverTimeKeys, context: &mut Context) -> Variation {
    Variation {
        shaper: keys.shaper.as_ref().and_then(|keys| token_bucket(keys, context)),
        policer: keys.policer.as_ref().and_then(|keys| token_bucket(keys, context)),
        wifi_jitter: keys.wifi_jitter.as_ref().map(|keys| keys.0.clone()),
        aggregation: keys.aggregation.as_ref().and_then(|keys| aggregation(keys, context)),
        outages: keys.outages.iter().filter_map(|keys| outage(keys, context)).collect(),
        ..Variation::default()
    }
}

/// The settings if they work; reports the problem otherwise.
fn checked<K, T>(
    Located { location, .. }: &Located<K>,
    settings: T,
    validate: fn(&T) -> Result<(), ConfigError>,
    context: &mut Context,
) -> Option<T> {
    validate(&settings).map_err(|error| context.wrong_at(location, error.to_string())).ok()?;
    Some(settings)
}

fn token_bucket(keys: &Located<TokenBucketKeys>, context: &mut Context) -> Option<TokenBucket> {
    let TokenBucketKeys { rate, burst } = keys.value;
    let bucket = TokenBucket { rate, burst_bytes: burst.0 };
    checked(keys, bucket, TokenBucket::validate, context)
}

fn aggregation(keys: &Located<AggregationKeys>, context: &mut Context) -> Option<Aggregation> {
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

fn outage(keys: &Located<OutageKeys>, context: &mut Context) -> Option<Outage> {
    let OutageKeys { at, lasts, every, lose } = keys.value;
    let outage = Outage { at, lasts, every, lose: lose.unwrap_or(false) };
    checked(keys, outage, Outage::validate, context)
}
