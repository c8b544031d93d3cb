//! Applications: their keys.

use super::traffic::{ArrivalsKeys, SizesKeys};
use crate::registry::{Context, Registry};
use crate::units::NoSettingsKeys;
use serde_json::json;
use windlass_base::{BitRate, Span};
use windlass_keys::{
    Bytes, Decode, Definitions, Located, Node, Positive, Probability, Value, choice, keys, words,
};

choice! {
    /// Amount and timing of the data of a TCP flow.
    enum AppKeys as "an application" {
        /// As much as the connection takes.
        Bulk(NoSettingsKeys) = "bulk",
        /// So many bytes, then FIN.
        Transfer(TransferKeys) = "transfer",
        /// One transfer after the other, each on a connection of its own.
        Repeated(RepeatedKeys) = "repeated",
        /// Transfers that come and go, each on a connection of its own, however many are open.
        Arrivals(ArrivingKeys) = "arrivals",
        /// The same number of bytes in each interval.
        Limited(LimitedKeys) = "limited",
        /// Requests of the receiver, and responses.
        Requests(RequestsKeys) = "requests",
        /// Loads of pages, each over several connections.
        Pages(PagesKeys) = "pages",
        /// Video over HTTP.
        Video(VideoKeys) = "video",
    }
}

keys! {
    /// Settings of a transfer.
    struct TransferKeys {
        /// Size of the transfer.
        size: Bytes,
    }
}

keys! {
    /// Settings of repeated transfers.
    struct RepeatedKeys {
        /// Size of each.
        size: Bytes,
        /// Time from the end of one transfer to the start of the next.
        pause: Span,
        /// Draw the pauses from an exponential distribution with that mean. Default: false.
        exponential: Option<bool>,
        /// Number of transfers. Default: until the end.
        count: Option<Positive>,
    }
}

keys! {
    /// Settings of transfers that come and go.
    struct ArrivingKeys {
        /// When they come.
        arrivals: Located<ArrivalsKeys>,
        /// How large they are; a file of arrivals has its own sizes.
        sizes: Option<Located<SizesKeys>>,
    }
}

keys! {
    /// Settings of a sender that its application limits.
    struct LimitedKeys {
        /// Size of each write.
        size: Bytes,
        /// Time from one write to the next.
        interval: Located<Span>,
    }
}

keys! {
    /// Settings of requests and responses. The receiver opens the connections, and both ends send the end
    /// of a message at once (without Nagle's algorithm).
    struct RequestsKeys {
        /// Size of a request. Default: 300B.
        request: Option<Located<SizesKeys>>,
        /// Size of a response.
        response: Located<SizesKeys>,
        /// Time from a response to the next request. Default: 0s.
        think: Option<Span>,
        /// Draw these times from an exponential distribution with that mean. Default: false.
        exponential: Option<bool>,
        /// Number of requests. Default: until the end.
        count: Option<Positive>,
        /// Which connection the next request takes. Default: kept.
        connection: Option<ReuseKeys>,
        /// The flows of this table wait for each other: each sends its next request when all have their
        /// responses (incast). Default: false.
        barrier: Option<bool>,
    }
}

words! {
    /// Which connection the next request takes.
    enum ReuseKeys as "a connection" {
        /// The same.
        Kept = "kept",
        /// A new one for each.
        New = "new",
    }
}

keys! {
    /// Settings of pages: a document, and then its objects over several connections. The receiver opens the
    /// connections, anew for each page.
    struct PagesKeys {
        /// Size of a request. Default: 400B.
        request: Option<Bytes>,
        /// Size of the document.
        document: Located<SizesKeys>,
        /// How many objects it names.
        objects: NumberKeys,
        /// Size of an object.
        object: Located<SizesKeys>,
        /// Connections in parallel at most. Default: 6, as browsers have with HTTP/1.1.
        connections: Option<Positive>,
        /// Time from the end of a load to the next. Default: 0s.
        think: Option<Span>,
        /// Draw these times from an exponential distribution with that mean. Default: false.
        exponential: Option<bool>,
        /// Number of loads. Default: until the end.
        count: Option<Positive>,
    }
}

keys! {
    /// Settings of a video: segments that the receiver asks for one after the other, on one connection.
    struct VideoKeys {
        /// Bitrates of its levels, ascending.
        ladder: Vec<BitRate>,
        /// How long a segment plays. Default: 4s.
        segment: Option<Span>,
        /// Number of segments. Default: no end.
        segments: Option<Positive>,
        /// Playback begins, and goes on after a stall, with so much in the buffer. Default: two segments.
        startup: Option<Span>,
        /// How much the buffer holds. Default: 30s.
        buffer: Option<Span>,
        /// Sizes of segments differ from their bitrate by up to this share, drawn uniformly. Default: 0.
        variation: Option<Probability>,
        /// How the level of the next segment is chosen.
        rule: RuleKeys,
        /// Size of a request. Default: 300B.
        request: Option<Bytes>,
    }
}

choice! {
    /// How the level of a video's next segment is chosen.
    enum RuleKeys as "a rule" {
        /// Always the same level.
        Fixed(FixedRuleKeys) = "fixed",
        /// The highest level that the throughput of the last segments carries.
        Rate(RateRuleKeys) = "rate",
        /// By what is in the buffer (BBA-0).
        Bba(BbaRuleKeys) = "bba",
    }
}

keys! {
    /// Settings of a fixed level.
    struct FixedRuleKeys {
        /// Position in the ladder, from 1.
        level: Positive,
    }
}

keys! {
    /// Settings of the rule by throughput.
    struct RateRuleKeys {
        /// Segments whose throughputs count; their harmonic mean is taken. Default: 5.
        window: Option<Positive>,
        /// Share of that mean that a level may need. Default: 0.9.
        safety: Option<f64>,
    }
}

keys! {
    /// Settings of the rule by buffer.
    struct BbaRuleKeys {
        /// Up to so much in the buffer, the lowest level. Default: a quarter of the buffer.
        reservoir: Option<Span>,
        /// Over so much more, the bitrate rises to the highest. Default: half of the buffer.
        cushion: Option<Span>,
    }
}

/// A whole number, fixed or drawn uniformly from a range.
#[derive(Copy, Clone, Debug)]
pub(crate) struct NumberKeys {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

keys! {
    /// A range of whole numbers.
    struct RangeKeys {
        /// The least.
        min: Positive,
        /// The greatest.
        max: Positive,
    }
}

impl Decode<Registry> for NumberKeys {
    const EXPECTED: &'static str = "a whole number above zero, or { min = ..., max = ... }";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let (min, max) = match &node.value {
            Value::Table(_) => {
                let range = context.table::<RangeKeys>(node, None)?;
                (range.min.0, range.max.0)
            }
            Value::Integer(_) => {
                let number = Positive::decode(node, context)?.0;
                (number, number)
            }
            _ => return context.unexpected::<Self, _>(node),
        };
        if min > max {
            context.wrong(node.position, format!("expected min up to max, found {min} to {max}"));
            return None;
        }
        Some(NumberKeys { min, max })
    }

    fn schema(definitions: &mut Definitions<Registry>) -> serde_json::Value {
        json!({ "oneOf": [Positive::schema(definitions), RangeKeys::schema(definitions)] })
    }
}
