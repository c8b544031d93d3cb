//! Keys for a link that varies: rate, delay, token buckets, aggregation and outages.

use crate::data_file;
use crate::registry::{Context, Registry};
use serde_json::json;
use std::sync::Arc;
use windlass_base::{BitRate, Span};
use windlass_keys::{
    Bytes, Decode, Definitions, Located, Node, Positive, RateOrZero, Value, bounded, described,
    keys,
};
use windlass_link_model::{ConfigError, DeliveryTrace, Orbit, RateOverTime, Steps, WifiJitter};

keys! {
    /// Variations of a link's direction beside its rate and delay.
    struct OverTimeKeys {
        /// A token bucket behind the queue: packets beyond it wait. Default: none.
        shaper: Option<Located<TokenBucketKeys>>,
        /// A token bucket before the queue: packets beyond it are dropped. Default: none.
        policer: Option<Located<TokenBucketKeys>>,
        /// Jitter of Wi-Fi on a crowded channel (draft-huitema-ccwg-c4-test, section 2.3): the target of
        /// its mean, or the target over time. Packets keep their order. Default: none.
        wifi_jitter: Option<WifiJitterKeys>,
        /// Packets arrive in batches, as on media that are shared by turns. Default: each by itself.
        aggregation: Option<Located<AggregationKeys>>,
        /// Times in which the link carries nothing. Default: none.
        outages: Vec<Located<OutageKeys>>,
    }
}

keys! {
    /// Rate, delay and other variations of a link's direction, where it is described outside a
    /// scenario.
    struct LinkOverTimeKeys {
        /// Rate, or rate over time. Default: unlimited.
        rate: Option<RateKeys>,
        /// Propagation delay, or delay over time. Default: none.
        delay: Option<DelayKeys>,
        #flatten over_time: OverTimeKeys,
    }
}

keys! {
    /// A rate, and the burst that it allows after a pause.
    struct TokenBucketKeys {
        /// How fast tokens come.
        rate: BitRate,
        /// How many tokens the bucket holds. It is full at first.
        burst: Bytes,
    }
}

keys! {
    /// A time in which the link carries nothing.
    struct OutageKeys {
        /// When it begins.
        at: Span,
        /// How long it lasts.
        lasts: Span,
        /// From one beginning to the next. Default: it happens once.
        every: Option<Span>,
        /// True: what the link transmits meanwhile is lost. False: packets wait in the queue. Default:
        /// false.
        lose: Option<bool>,
    }
}

keys! {
    /// Releases of the packets that have come since the one before.
    struct ReleaseKeys {
        /// From one release to the next; with `max_interval` the least.
        interval: Span,
        /// Each interval is a uniform draw up to this. Default: all are equal.
        max_interval: Option<Span>,
        /// Packets in a release, at most. Default: no limit.
        packets: Option<Positive>,
        /// Bytes in a release, at most. Default: no limit.
        bytes: Option<Bytes>,
    }
}

/// Aggregation: one of two examples, or settings.
#[derive(Clone, Debug)]
pub(crate) enum AggregationKeys {
    Wifi,
    Lte,
    Releases(ReleaseKeys),
}

impl Decode<Registry> for AggregationKeys {
    const EXPECTED: &'static str = "\"wifi\", \"lte\" or { interval = TIME }";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match &node.value {
            Value::Table(_) => context.table(node, None).map(AggregationKeys::Releases),
            Value::Text(_) => {
                let word = context.word(node, Self::EXPECTED, &["wifi", "lte"])?;
                Some([AggregationKeys::Wifi, AggregationKeys::Lte][word].clone())
            }
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        json!({ "oneOf": [{ "enum": ["wifi", "lte"] }, ReleaseKeys::schema(definitions)] })
    }
}

keys! {
    /// A rate over time: steps, or a trace.
    struct RateOverTimeKeys {
        /// When the rate changes, from 0 on.
        steps: Vec<RateStepKeys>,
        /// The steps begin again after this time. Default: the last one holds to the end.
        repeat: Option<Span>,
        /// A packet-delivery trace in mahimahi's format: the path of a file, relative to the scenario's,
        /// or a list of times in milliseconds.
        trace: Option<TraceKeys>,
    }
}

keys! {
    /// A rate from a time on.
    struct RateStepKeys {
        /// When it begins.
        at: Span,
        /// The rate; zero: the link stands still.
        rate: RateOrZero,
    }
}

keys! {
    /// A delay over time.
    struct DelayOverTimeKeys {
        /// When the delay changes, from 0 on. Packets keep their order.
        steps: Vec<DelayStepKeys>,
        /// The steps begin again after this time. Default: the last one holds to the end.
        repeat: Option<Span>,
        /// The way leads over satellites on a low orbit, one after the other.
        orbit: Option<OrbitKeys>,
    }
}

keys! {
    /// Satellites on a circular low orbit that pass over a ground station, which uses one at a time.
    struct OrbitKeys {
        /// Altitude in kilometres.
        altitude_km: AltitudeKm,
        /// The elevation in degrees below which no satellite is used. Default: 25.
        min_elevation_deg: Option<ElevationDeg>,
        /// From one satellite to the next. Default: each is used until it sets, when the next one
        /// rises.
        handover: Option<Span>,
        /// Ways between the ground and a satellite that the link has. Default: 2, up and down again.
        legs: Option<Legs>,
        /// Added to the delay, for the way on the ground. Default: none.
        extra: Option<Span>,
    }
}

bounded! {
    /// The altitude of a low orbit.
    struct AltitudeKm(u16) in 160..=2_000, "a whole number of kilometres from 160 to 2000";
}

bounded! {
    /// An elevation above the horizon.
    struct ElevationDeg(u8) in 0..=89, "a whole number of degrees from 0 to 89";
}

bounded! {
    /// Ways between the ground and a satellite.
    struct Legs(u8) in 1..=2, "1 or 2";
}

impl OrbitKeys {
    fn delay(&self) -> Result<Steps<Span>, ConfigError> {
        let orbit = Orbit {
            altitude_km: f64::from(self.altitude_km.0),
            min_elevation_deg: f64::from(self.min_elevation_deg.map_or(25, |degrees| degrees.0)),
            handover: self.handover,
            legs: u32::from(self.legs.map_or(2, |legs| legs.0)),
            extra: self.extra.unwrap_or(Span::ZERO),
        };
        orbit.delay()
    }
}

keys! {
    /// A delay from a time on.
    struct DelayStepKeys {
        /// When it begins.
        at: Span,
        /// The delay of packets that are sent from then on.
        delay: Span,
    }
}

keys! {
    /// Jitter of Wi-Fi over time.
    struct WifiJitterOverTimeKeys {
        /// When the target changes, from 0 on.
        steps: Vec<WifiJitterStepKeys>,
        /// The steps begin again after this time. Default: the last one holds to the end.
        repeat: Option<Span>,
    }
}

keys! {
    /// A target of Wi-Fi jitter from a time on.
    struct WifiJitterStepKeys {
        /// When it begins.
        at: Span,
        /// The target of the mean; zero: no jitter.
        wifi_jitter: Span,
    }
}

/// A trace: its file, or its times.
#[derive(Clone, Debug)]
pub(crate) struct TraceKeys(Arc<DeliveryTrace>);

impl Decode<Registry> for TraceKeys {
    const EXPECTED: &'static str = "the path of a trace, or a list of times in milliseconds";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let trace = match &node.value {
            Value::Text(path) => data_file::read(path, context.directory(), DeliveryTrace::parse),
            Value::List(_) => {
                let millis = Vec::<u64>::decode(node, context)?;
                DeliveryTrace::from_millis(millis).map_err(|error| error.to_string())
            }
            _ => return context.unexpected::<Self, _>(node),
        };
        trace
            .map_err(|why| context.wrong(node.position, why))
            .ok()
            .map(|trace| TraceKeys(Arc::new(trace)))
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        json!({ "oneOf": [{ "type": "string" }, Vec::<u64>::schema(definitions)] })
    }
}

/// The rate of a link: fixed, or over time.
#[derive(Clone, Debug)]
pub(crate) enum RateKeys {
    Fixed(BitRate),
    OverTime(RateOverTime),
}

impl RateKeys {
    /// The fixed rate, or the mean.
    pub(crate) fn mean(&self) -> BitRate {
        match self {
            RateKeys::Fixed(rate) => *rate,
            RateKeys::OverTime(rate) => rate.mean(),
        }
    }

    pub(crate) fn over_time(&self) -> Option<RateOverTime> {
        match self {
            RateKeys::Fixed(_) => None,
            RateKeys::OverTime(rate) => Some(rate.clone()),
        }
    }
}

impl Decode<Registry> for RateKeys {
    const EXPECTED: &'static str = <BitRate as Decode<Registry>>::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        if node.table().is_none() {
            return BitRate::decode(node, context).map(RateKeys::Fixed);
        }
        let keys = context.table::<RateOverTimeKeys>(node, None)?;
        let rate = match (keys.trace, keys.steps.is_empty()) {
            (Some(TraceKeys(trace)), true) if keys.repeat.is_none() => {
                Ok(RateOverTime::Trace(trace))
            }
            (None, false) => {
                let steps = keys.steps.iter().map(|step| (step.at, step.rate.0)).collect();
                Steps::new(steps, keys.repeat).map(RateOverTime::Steps)
            }
            _ => {
                let message = "expected either `steps`, perhaps with `repeat`, or `trace`";
                context.wrong(node.position, message.to_owned());
                return None;
            }
        };
        let checked = rate.and_then(|rate| rate.validate().map(|()| rate));
        checked
            .map_err(|error| context.wrong(node.position, error.to_string()))
            .ok()
            .map(RateKeys::OverTime)
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let [fixed, over_time] =
            [BitRate::schema(definitions), RateOverTimeKeys::schema(definitions)];
        described(json!({ "oneOf": [fixed, over_time] }), "A rate, fixed or over time.")
    }
}

/// The delay of a link: fixed, or over time.
#[derive(Clone, Debug)]
pub(crate) enum DelayKeys {
    Fixed(Span),
    OverTime(Steps<Span>),
}

impl DelayKeys {
    /// The fixed delay, or the least.
    pub(crate) fn least(&self) -> Span {
        match self {
            DelayKeys::Fixed(delay) => *delay,
            DelayKeys::OverTime(steps) => steps.values().min().unwrap_or_default(),
        }
    }

    pub(crate) fn over_time(&self) -> Option<Steps<Span>> {
        match self {
            DelayKeys::Fixed(_) => None,
            DelayKeys::OverTime(steps) => Some(steps.clone()),
        }
    }
}

impl Decode<Registry> for DelayKeys {
    const EXPECTED: &'static str = <Span as Decode<Registry>>::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        if node.table().is_none() {
            return Span::decode(node, context).map(DelayKeys::Fixed);
        }
        let keys = context.table::<DelayOverTimeKeys>(node, None)?;
        let delay = match (&keys.orbit, keys.steps.is_empty() && keys.repeat.is_none()) {
            (Some(orbit), true) => orbit.delay(),
            (None, _) => {
                let steps = keys.steps.iter().map(|step| (step.at, step.delay)).collect();
                Steps::new(steps, keys.repeat)
            }
            (Some(_), false) => {
                let message = "expected either `steps`, perhaps with `repeat`, or `orbit`";
                context.wrong(node.position, message.to_owned());
                return None;
            }
        };
        delay
            .map_err(|error| context.wrong(node.position, error.to_string()))
            .ok()
            .map(DelayKeys::OverTime)
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let [fixed, over_time] =
            [Span::schema(definitions), DelayOverTimeKeys::schema(definitions)];
        described(json!({ "oneOf": [fixed, over_time] }), "A delay, fixed or over time.")
    }
}

/// Jitter of Wi-Fi: a target of its mean, or one that changes.
#[derive(Clone, Debug)]
pub(crate) struct WifiJitterKeys(pub(crate) WifiJitter);

impl Decode<Registry> for WifiJitterKeys {
    const EXPECTED: &'static str = <Span as Decode<Registry>>::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let targets = if node.table().is_none() {
            Ok(Steps::constant(Span::decode(node, context)?))
        } else {
            let keys = context.table::<WifiJitterOverTimeKeys>(node, None)?;
            let steps = keys.steps.iter().map(|step| (step.at, step.wifi_jitter)).collect();
            Steps::new(steps, keys.repeat)
        };
        targets
            .map_err(|error| context.wrong(node.position, error.to_string()))
            .ok()
            .map(|targets| WifiJitterKeys(WifiJitter::new(targets)))
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let [fixed, over_time] =
            [Span::schema(definitions), WifiJitterOverTimeKeys::schema(definitions)];
        described(json!({ "oneOf": [fixed, over_time] }), "A target, fixed or over time.")
    }
}
