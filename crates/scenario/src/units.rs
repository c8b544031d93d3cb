//! Quantities of TCP and of queues, and other values that several keys have.

use serde_json::json;
use windlass_aqm as aqm;
use windlass_keys::{
    Context, Decode, Definitions, Node, Quantity, SIZES, Unit, Value, bounded, keys,
};
use windlass_tcp::Profile;
use windlass_tcp::config::RtoRule;

keys! {
    /// No settings.
    struct NoSettingsKeys {}
}

const PACKETS: &[Unit] = &[("packets", 1), ("packet", 1)];
const SEGMENTS: &[Unit] = &[("segments", 1), ("segment", 1)];

/// A number of segments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segments(pub(crate) u64);

/// A window: bytes, or segments of the flow's MSS.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Bytes(u64),
    Segments(u64),
}

/// The maximum length of a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) aqm::Limit);

/// A threshold on a queue's length.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Threshold {
    Packets(f64),
    Bytes(f64),
}

const SEGMENTS_ALONE: Quantity =
    Quantity { expected: "a window such as \"10 segments\"", units: &[SEGMENTS] };
const WINDOW: Quantity = Quantity {
    expected: "a window such as \"128 segments\" or \"64KiB\"",
    units: &[SEGMENTS, SIZES],
};
const LIMIT: Quantity = Quantity {
    expected: "a limit above zero such as \"50 packets\" or \"64KiB\"",
    units: &[PACKETS, SIZES],
};
const THRESHOLD: Quantity = Quantity {
    expected: "a threshold such as \"10 packets\" or \"64KiB\"",
    units: &[PACKETS, SIZES],
};

/// True if the text of `node` is written in one of `units`.
fn is_in(node: &Node, units: &[Unit]) -> bool {
    match &node.value {
        Value::Text(text) => units.iter().any(|(name, _)| text.trim_end().ends_with(name)),
        _ => false,
    }
}

impl<R> Decode<R> for Segments {
    const EXPECTED: &'static str = SEGMENTS_ALONE.expected;

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        SEGMENTS_ALONE.decode(node, context).map(Segments)
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        SEGMENTS_ALONE.schema()
    }
}

impl<R> Decode<R> for Window {
    const EXPECTED: &'static str = WINDOW.expected;

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let amount = WINDOW.decode(node, context)?;
        Some(if is_in(node, SEGMENTS) { Window::Segments(amount) } else { Window::Bytes(amount) })
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        WINDOW.schema()
    }
}

impl<R> Decode<R> for Limit {
    const EXPECTED: &'static str = LIMIT.expected;

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let amount = LIMIT.decode(node, context)?;
        let limit = if is_in(node, PACKETS) {
            u32::try_from(amount).ok().map(aqm::Limit::Packets)
        } else {
            Some(aqm::Limit::Bytes(amount))
        };
        let limit = limit.filter(|limit| limit.validate().is_ok()).map(Limit);
        limit.or_else(|| context.unexpected::<Self, _>(node))
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        LIMIT.schema()
    }
}

impl<R> Decode<R> for Threshold {
    const EXPECTED: &'static str = THRESHOLD.expected;

    /// Averages have fractions, and so may thresholds, down to millionths of a packet.
    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        const MILLIONTHS: &[Unit] = &[("packets", 1_000_000), ("packet", 1_000_000)];
        if is_in(node, PACKETS) {
            let packets = Quantity { units: &[MILLIONTHS], ..THRESHOLD };
            let millionths = packets.decode(node, context)?;
            return Some(Threshold::Packets(millionths as f64 / 1e6));
        }
        let bytes = Quantity { units: &[SIZES], ..THRESHOLD };
        bytes.decode(node, context).map(|bytes| Threshold::Bytes(bytes as f64))
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        THRESHOLD.schema()
    }
}

bounded! {
    /// A maximum segment size in bytes: what fits into an IPv4 packet beside 40 bytes of headers. It has
    /// room for 40 bytes of options and 8 of data, the least that Linux sends (`TCP_MIN_SND_MSS`); the
    /// engine raises a smaller one.
    pub(crate) struct Mss(u16) in 48..=65_495,
        "a number of bytes from 48 (40 of options, 8 of data) to 65495";
}

bounded! {
    /// A size of packets in bytes, IP and UDP headers included.
    pub(crate) struct PacketBytes(u32) in 28..=65_535, "a number of bytes from 28 to 65535";
}

/// A value that has a name, of a crate that knows no keys.
macro_rules! named {
    ($(#[doc = $doc:literal])+ $name:ident($type:ty) as $what:literal) => {
        $(#[doc = $doc])+
        #[derive(Copy, Clone, Debug)]
        pub(crate) struct $name(pub(crate) $type);

        impl<R> Decode<R> for $name {
            const EXPECTED: &'static str = $what;

            fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
                let names = <$type>::ALL.map(<$type>::name);
                context.word(node, $what, &names).map(|index| $name(<$type>::ALL[index]))
            }

            fn schema(_: &mut Definitions<R>) -> serde_json::Value {
                json!({ "enum": <$type>::ALL.map(<$type>::name) })
            }
        }
    };
}

named! {
    /// The name of a profile.
    ProfileName(Profile) as "a profile"
}

named! {
    /// The name of a rule of the RTO.
    RtoRuleName(RtoRule) as "a rule of the RTO"
}
