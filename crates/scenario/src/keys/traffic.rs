//! Keys for traffic: sizes, arrivals, real-time media.

use crate::data_file;
use crate::registry::{Context, Registry};
use serde_json::json;
use std::fmt::Display;
use std::sync::Arc;
use windlass_base::{BitRate, Span};
use windlass_keys::{
    Bytes, Decode, Definitions, Node, Positive, Value, bounded, choice, described, keys,
};
use windlass_traffic::{ArrivalList, EmpiricalCdf, Sizes};

keys! {
    /// Arrivals: when transfers or packets come.
    struct ArrivalsKeys {
        /// How many in a second, in the mean.
        rate: Option<f64>,
        /// Instead of `rate`: the share of the bottleneck's rate that they need in the mean, with
        /// headers; above 1 too. All flows of a table have it together.
        load: Option<f64>,
        /// Bursts of arrivals. Default: each comes independently of the others (Poisson).
        on_off: Option<BurstKeys>,
        /// How many there are. Default: until the end.
        count: Option<Positive>,
        /// Instead of all others, and of sizes: the path of a file, relative to the scenario's. A line
        /// has seconds since the start, and bytes.
        file: Option<ArrivalFile>,
    }
}

keys! {
    /// Bursts: on times with independent arrivals, and off times without. Both are Pareto distributed.
    struct BurstKeys {
        /// The mean on time.
        on: Span,
        /// The mean off time.
        off: Span,
        /// The shape of both; the smaller, the longer are a few of them. Default: 1.5.
        shape: Option<f64>,
    }
}

/// The path of a data file, with what it holds.
fn file<T, E: Display>(
    node: &Node,
    context: &mut Context,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Option<Arc<T>> {
    let Value::Text(path) = &node.value else {
        return context.unexpected::<ArrivalFile, _>(node);
    };
    data_file::read(path, context.directory(), parse)
        .map_err(|why| context.wrong(node.position, why))
        .ok()
        .map(Arc::new)
}

/// A file of arrivals.
#[derive(Clone, Debug)]
pub(crate) struct ArrivalFile(pub(crate) Arc<ArrivalList>);

impl Decode<Registry> for ArrivalFile {
    const EXPECTED: &'static str = "the path of a file";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        file(node, context, ArrivalList::parse).map(ArrivalFile)
    }

    fn schema(_: &mut Definitions<Registry>) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

/// A file of a distribution.
#[derive(Clone, Debug)]
pub(crate) struct CdfFile(Arc<EmpiricalCdf>);

impl Decode<Registry> for CdfFile {
    const EXPECTED: &'static str = ArrivalFile::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        file(node, context, EmpiricalCdf::parse).map(CdfFile)
    }

    fn schema(_: &mut Definitions<Registry>) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

keys! {
    /// A measured distribution of sizes.
    struct CdfKeys {
        /// The path of a file, relative to the scenario's. A line has bytes, and the probability of at
        /// most so many; it is straight between them.
        file: CdfFile,
    }
}

choice! {
    /// A distribution of sizes.
    enum DrawnSizesKeys as "a distribution" {
        /// Each number of bytes from the least to the greatest is equally likely.
        Uniform(UniformKeys) = "uniform",
        /// Small sizes are the likeliest, and large ones rare.
        Exponential(ExponentialKeys) = "exponential",
        /// Pareto: a few are very large.
        Pareto(ParetoKeys) = "pareto",
        /// Log-normal: the logarithm is normally distributed.
        LogNormal(LogNormalKeys) = "log-normal",
    }
}

keys! {
    /// Settings of a uniform distribution.
    struct UniformKeys {
        /// The least size.
        min: Bytes,
        /// The greatest size.
        max: Bytes,
    }
}

keys! {
    /// Settings of an exponential distribution.
    struct ExponentialKeys {
        /// The mean.
        mean: Bytes,
    }
}

keys! {
    /// Settings of a Pareto distribution.
    struct ParetoKeys {
        /// The exponent: the probability of more than x bytes is (`min` / x)^`shape`.
        shape: f64,
        /// The least size.
        min: Bytes,
        /// The greatest size. Default: no limit.
        max: Option<Bytes>,
    }
}

keys! {
    /// Settings of a log-normal distribution.
    struct LogNormalKeys {
        /// The median.
        median: Bytes,
        /// The standard deviation of the natural logarithm.
        sigma: f64,
    }
}

impl DrawnSizesKeys {
    fn sizes(&self) -> Sizes {
        let bytes = |bytes: Bytes| bytes.0 as f64;
        match self {
            DrawnSizesKeys::Uniform(keys) => Sizes::Uniform { min: keys.min.0, max: keys.max.0 },
            DrawnSizesKeys::Exponential(keys) => Sizes::Exponential { mean: bytes(keys.mean) },
            DrawnSizesKeys::Pareto(keys) => Sizes::Pareto {
                shape: keys.shape,
                minimum: bytes(keys.min),
                maximum: keys.max.map(bytes),
            },
            DrawnSizesKeys::LogNormal(keys) => {
                Sizes::LogNormal { median: bytes(keys.median), sigma: keys.sigma }
            }
        }
    }
}

/// Sizes: one size, the name of a table, a file, or a distribution.
#[derive(Clone, Debug)]
pub(crate) struct SizesKeys(pub(crate) Sizes);

/// The built-in tables.
const TABLES: [&str; 2] = ["web-search", "data-mining"];

impl Decode<Registry> for SizesKeys {
    const EXPECTED: &'static str = "a size such as \"64KiB\", \"web-search\", \"data-mining\", { file = PATH } or { kind = ... }";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let sizes = match &node.value {
            Value::Text(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
                let table = context.word(node, Self::EXPECTED, &TABLES)?;
                let table = [EmpiricalCdf::web_search, EmpiricalCdf::data_mining][table]();
                Sizes::Empirical(Arc::new(table))
            }
            Value::Text(_) => Sizes::Fixed(Bytes::decode(node, context)?.0),
            Value::Table(_) if node.get("file").is_some() => {
                Sizes::Empirical(context.table::<CdfKeys>(node, None)?.file.0)
            }
            Value::Table(_) => DrawnSizesKeys::decode(node, context)?.sizes(),
            _ => return context.unexpected::<Self, _>(node),
        };
        sizes
            .validate()
            .map_err(|error| context.wrong(node.position, error.to_string()))
            .ok()
            .map(|()| SizesKeys(sizes))
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let forms = [
            json!({ "enum": TABLES }),
            Bytes::schema(definitions),
            CdfKeys::schema(definitions),
            DrawnSizesKeys::schema(definitions),
        ];
        described(json!({ "anyOf": forms }), "Sizes: fixed, or a distribution.")
    }
}

keys! {
    /// A source of real-time media: frames with deadlines.
    struct MediaKeys {
        /// The bitrate of the frames, without headers: fixed, or steps over time.
        bitrate: MediaRateKeys,
        /// How long after its time a frame must be complete at the receiver.
        deadline: Span,
        /// Frames per second. Default: 30.
        frames_per_second: Option<f64>,
        /// Some frames are larger. Default: all are alike.
        key_frames: Option<KeyFrameKeys>,
        /// The most bytes of a frame in a packet. IP and UDP headers come on top. Default: 1200.
        packet_bytes: Option<MediaPacketBytes>,
        /// The packets of a frame leave evenly over this share of the time to the next frame. Default:
        /// 0, all at once.
        spread: Option<f64>,
    }
}

bounded! {
    /// Bytes of a frame in a packet: what fits into an IPv4 packet beside 28 bytes of headers.
    pub(crate) struct MediaPacketBytes(u32) in 1..=65_507, "a number of bytes from 1 to 65507";
}

keys! {
    /// Frames that do not depend on others. The bitrate stays the same.
    struct KeyFrameKeys {
        /// From one to the next, in frames. The first frame is one.
        every: Positive,
        /// How many times as large as another frame.
        factor: f64,
    }
}

keys! {
    /// A bitrate over time.
    struct MediaRateStepsKeys {
        /// When it changes, since the start of the source, from 0 on.
        steps: Vec<MediaStepKeys>,
    }
}

keys! {
    /// A bitrate from a time on.
    struct MediaStepKeys {
        /// When it begins.
        at: Span,
        /// The bitrate.
        rate: BitRate,
    }
}

/// The bitrate of media: its steps.
#[derive(Clone, Debug)]
pub(crate) struct MediaRateKeys(pub(crate) Vec<(Span, BitRate)>);

impl Decode<Registry> for MediaRateKeys {
    const EXPECTED: &'static str = <BitRate as Decode<Registry>>::EXPECTED;

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        if node.table().is_none() {
            let rate = BitRate::decode(node, context)?;
            return Some(MediaRateKeys(vec![(Span::ZERO, rate)]));
        }
        let keys = context.table::<MediaRateStepsKeys>(node, None)?;
        Some(MediaRateKeys(keys.steps.iter().map(|step| (step.at, step.rate)).collect()))
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        let [fixed, steps] =
            [BitRate::schema(definitions), MediaRateStepsKeys::schema(definitions)];
        described(json!({ "oneOf": [fixed, steps] }), "A bitrate, fixed or over time.")
    }
}
