//! Keys for a link that varies: rate, delay, token buckets, aggregation and outages.

use crate::data_file;
use crate::registry::{Context, Registry};
use serde_json::json;
use std::sync::Arc;
use windlass_base::{BitRate, Span};
use windlass_keys::{
    Bytes, Decode, Definitions, Located, Node, Positive, RateOrZero, Value, described, keys,
};
use windlass_link_model::{DeliveryTrace, RateOverTime, Steps};

keys! {
    /// Variations of a link's direction beside its rate and delay.
    struct OverTimeKeys {
        /// A token bucket behind the queue: packets beyond it wait. Default: none.
        shaper: Option<Located<TokenBucketKeys>>,
        /// A token bucket before the queue: packets beyond it are dropped. Default: none.
        policer: Option<Located<TokenBucketKeys>>,
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
        let steps = keys.steps.iter().map(|step| (step.at, step.delay)).collect();
        Steps::new(steps, keys.repeat)
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
