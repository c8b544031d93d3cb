//! Quantities with their units, as scenario files write them. Decimals are read exactly, not
//! through floating point: `"0.1s"` is 100,000,000 ns.

use super::decode::{Context, Decode};
use super::definitions::Definitions;
use super::tree::{Node, Value};
use serde_json::json;
use windlass_aqm::Limit;
use windlass_base::{BitRate, Span};

/// The names of a unit, and how many base units it is.
type Unit = (&'static str, u64);

const TIMES: &[Unit] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const RATES: &[Unit] =
    &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
const SIZES: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const PACKETS: &[Unit] = &[("packets", 1), ("packet", 1)];
const SEGMENTS: &[Unit] = &[("segments", 1), ("segment", 1)];

/// A number of bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Bytes(pub u64);

/// A rate; `None` is zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct RateOrZero(pub Option<BitRate>);

/// A number of segments.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Segments(pub u64);

/// A window: bytes, or segments of the flow's MSS.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Bytes(u64),
    Segments(u64),
}

/// A threshold on a queue's length.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Threshold {
    Packets(f64),
    Bytes(f64),
}

/// A number from 0 to 1.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Probability(pub f64);

/// Why a text is not a quantity.
#[derive(Debug, PartialEq)]
enum QuantityError {
    /// Not a number and a unit that is known here.
    Form,
    /// Below zero.
    Negative,
    /// Not a whole number of base units, or more than 2^64 of them.
    Range,
}

/// Units that people write for one that this format knows, in lower case.
const ALIASES: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("bits/s", "bit/s"),
    ("b/s", "bit/s"),
    ("kb/s", "kbit/s"),
    ("mb/s", "Mbit/s"),
    ("gb/s", "Gbit/s"),
    ("mb", "Mbit/s"),
    ("gb", "Gbit/s"),
    ("k", "kbit/s"),
    ("m", "Mbit/s"),
    ("g", "Gbit/s"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("usec", "us"),
    ("\u{b5}s", "us"),
    ("\u{3bc}s", "us"),
    ("nsec", "ns"),
    ("minutes", "min"),
    ("hours", "h"),
    ("byte", "B"),
    ("bytes", "B"),
    ("pkt", "packets"),
    ("pkts", "packets"),
    ("seg", "segments"),
    ("segs", "segments"),
];

/// `; did you mean "10Mbit/s"?` for a number with a unit that resembles one of `units`, or nothing.
fn did_you_mean_unit(text: &str, units: &[&[Unit]]) -> String {
    let (number, unit) = split(text);
    // A capital B means bytes: such a unit is never one of bits.
    let is_of_bytes = unit.contains('B');
    let known = || units.iter().copied().flatten().map(|(name, _)| *name);
    let usual = ALIASES.iter().filter(|(alias, _)| *alias == unit.to_lowercase());
    let usual = usual.map(|(_, meant)| *meant);
    let same_but_for_case = known().filter(|name| name.eq_ignore_ascii_case(unit));
    let near = known()
        .map(|name| (strsim::damerau_levenshtein(name, unit), name))
        .filter(|(distance, _)| unit.len() >= 3 && *distance <= 2)
        .min()
        .map(|(_, name)| name);
    let meant = same_but_for_case.chain(usual).chain(near).find(|meant| {
        known().any(|name| name == *meant) && !(is_of_bytes && meant.contains("bit"))
    });
    match meant {
        Some(meant) if number.parse::<f64>().is_ok() && !number.ends_with('.') => {
            let blank = if meant.len() > 6 { " " } else { "" };
            format!("; did you mean \"{number}{blank}{meant}\"?")
        }
        _ => String::new(),
    }
}

/// The number of a quantity and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// `text` in base units.
fn quantity(text: &str, units: &[&[Unit]]) -> Result<u64, QuantityError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(QuantityError::Negative);
    }
    let (number, unit) = split(text);
    let (_, factor) = units
        .iter()
        .copied()
        .flatten()
        .find(|(name, _)| *name == unit)
        .ok_or(QuantityError::Form)?;
    exact_product(number, *factor)
}

/// `number`, a decimal, times `factor`, if that is a whole number.
fn exact_product(number: &str, factor: u64) -> Result<u64, QuantityError> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let decimals = decimals.trim_end_matches('0');
    if whole.is_empty() || number.ends_with('.') || decimals.contains('.') {
        return Err(QuantityError::Form);
    }
    let digits: u128 = format!("{whole}{decimals}").parse().map_err(|_| QuantityError::Range)?;
    let scale = 10u128.checked_pow(decimals.len() as u32).ok_or(QuantityError::Range)?;
    let product = digits.checked_mul(u128::from(factor)).ok_or(QuantityError::Range)?;
    if product % scale != 0 {
        return Err(QuantityError::Range);
    }
    u64::try_from(product / scale).map_err(|_| QuantityError::Range)
}

/// Parses a time such as `94ms`.
///
/// # Errors
///
/// The expected form, and a suggestion for a unit that resembles a known one.
pub fn parse_time(text: &str) -> Result<Span, String> {
    quantity(text, &[TIMES]).map(Span::from_nanos).map_err(|_| refusal::<Span>(text, TIMES))
}

/// Parses a rate above zero such as `10Mbit/s`.
///
/// # Errors
///
/// The expected form, and a suggestion for a unit that resembles a known one.
pub fn parse_rate(text: &str) -> Result<BitRate, String> {
    quantity(text, &[RATES])
        .ok()
        .and_then(BitRate::from_bits_per_sec)
        .ok_or_else(|| refusal::<BitRate>(text, RATES))
}

/// Parses a size such as `64KiB`, in bytes.
///
/// # Errors
///
/// The expected form, and a suggestion for a unit that resembles a known one.
pub fn parse_size(text: &str) -> Result<u64, String> {
    quantity(text, &[SIZES]).map_err(|_| refusal::<Bytes>(text, SIZES))
}

fn refusal<T: Decode>(text: &str, units: &[Unit]) -> String {
    format!("expected {}{}", T::EXPECTED, did_you_mean_unit(text, &[units]))
}

/// Reads a quantity that must be given as text.
fn decode<T: Decode>(node: &Node, context: &mut Context, units: &[&[Unit]]) -> Option<u64> {
    let error = match &node.value {
        Value::Text(text) => match quantity(text, units) {
            Ok(amount) => return Some(amount),
            Err(error) => error,
        },
        _ => QuantityError::Form,
    };
    let why = match error {
        QuantityError::Form if matches!(node.value, Value::Integer(_) | Value::Float(_)) => {
            " (no unit)"
        }
        QuantityError::Form => "",
        QuantityError::Negative => " (negative)",
        QuantityError::Range => " (too fine or too large)",
    };
    let near = match (&error, &node.value) {
        (QuantityError::Form, Value::Text(text)) => did_you_mean_unit(text, units),
        _ => String::new(),
    };
    let message = format!("expected {}, found {}{why}{near}", T::EXPECTED, node.shown());
    context.wrong(node.location, message);
    None
}

fn schema_of(units: &[&[Unit]]) -> serde_json::Value {
    let names: Vec<_> = units.iter().copied().flatten().map(|(name, _)| *name).collect();
    json!({ "type": "string", "pattern": format!("^[0-9]+(\\.[0-9]+)? *({})$", names.join("|")) })
}

impl Decode for Span {
    const EXPECTED: &'static str = "a time such as \"94ms\" (ns, us, ms, s, min, h)";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        decode::<Self>(node, context, &[TIMES]).map(Span::from_nanos)
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[TIMES])
    }
}

impl Decode for BitRate {
    const EXPECTED: &'static str =
        "a rate above zero such as \"10Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let bits = decode::<Self>(node, context, &[RATES])?;
        BitRate::from_bits_per_sec(bits).or_else(|| context.unexpected::<Self, _>(node))
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[RATES])
    }
}

impl Decode for RateOrZero {
    const EXPECTED: &'static str =
        "a rate such as \"10Mbit/s\" or \"0bit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let bits = decode::<Self>(node, context, &[RATES])?;
        Some(RateOrZero(BitRate::from_bits_per_sec(bits)))
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[RATES])
    }
}

impl Decode for Bytes {
    const EXPECTED: &'static str = "a size such as \"64KiB\" (B, kB, MB, GB, KiB, MiB, GiB)";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        decode::<Self>(node, context, &[SIZES]).map(Bytes)
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[SIZES])
    }
}

impl Decode for Segments {
    const EXPECTED: &'static str = "a window such as \"10 segments\"";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        decode::<Self>(node, context, &[SEGMENTS]).map(Segments)
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[SEGMENTS])
    }
}

/// True if the text of `node` is written in one of `units`.
fn is_in(node: &Node, units: &[Unit]) -> bool {
    match &node.value {
        Value::Text(text) => units.iter().any(|(name, _)| text.trim_end().ends_with(name)),
        _ => false,
    }
}

impl Decode for Window {
    const EXPECTED: &'static str = "a window such as \"128 segments\" or \"64KiB\"";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let amount = decode::<Self>(node, context, &[SEGMENTS, SIZES])?;
        Some(if is_in(node, SEGMENTS) { Window::Segments(amount) } else { Window::Bytes(amount) })
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[SEGMENTS, SIZES])
    }
}

impl Decode for Limit {
    const EXPECTED: &'static str = "a limit above zero such as \"50 packets\" or \"64KiB\"";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        let amount = decode::<Self>(node, context, &[PACKETS, SIZES])?;
        let limit = if is_in(node, PACKETS) {
            u32::try_from(amount).ok().map(Limit::Packets)
        } else {
            Some(Limit::Bytes(amount))
        };
        limit
            .filter(|limit| limit.validate().is_ok())
            .or_else(|| context.unexpected::<Self, _>(node))
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[PACKETS, SIZES])
    }
}

impl Decode for Threshold {
    const EXPECTED: &'static str = "a threshold such as \"10 packets\" or \"64KiB\"";

    /// Averages have fractions, and so may thresholds, down to millionths of a packet.
    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        const MILLIONTHS: &[Unit] = &[("packets", 1_000_000), ("packet", 1_000_000)];
        if is_in(node, PACKETS) {
            let millionths = decode::<Self>(node, context, &[MILLIONTHS])?;
            return Some(Threshold::Packets(millionths as f64 / 1e6));
        }
        decode::<Self>(node, context, &[SIZES]).map(|bytes| Threshold::Bytes(bytes as f64))
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        schema_of(&[PACKETS, SIZES])
    }
}

impl Decode for Probability {
    const EXPECTED: &'static str = "a probability from 0 to 1";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Integer(number @ 0..=1) => Some(Probability(number as f64)),
            Value::Float(number) if (0.0..=1.0).contains(&number) => Some(Probability(number)),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// The version of a scenario's format.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Version(pub u32);

impl Decode for Version {
    const EXPECTED: &'static str = "`schema = 1`, the version of the format";

    fn decode(node: &Node, context: &mut Context) -> Option<Self> {
        match node.value {
            Value::Integer(number) => u32::try_from(number).ok().map(Version),
            _ => None,
        }
        .or_else(|| context.unexpected::<Self, _>(node))
    }

    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        u32::schema(definitions)
    }
}

/// A whole number above zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Positive(pub u32);

/// A maximum segment size in bytes: what fits into an IPv4 packet beside 40 bytes of headers. It has
/// room for 40 bytes of options and 8 of data, the least that Linux sends (`TCP_MIN_SND_MSS`); the engine
/// raises a smaller one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Mss(pub u16);

/// A size of packets in bytes, IP and UDP headers included.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct PacketBytes(pub u32);

macro_rules! bounded {
    ($name:ident, $range:expr, $expected:literal) => {
        impl Decode for $name {
            const EXPECTED: &'static str = $expected;

            fn decode(node: &Node, context: &mut Context) -> Option<Self> {
                match node.value {
                    Value::Integer(number) if $range.contains(&number) => {
                        number.try_into().ok().map($name)
                    }
                    _ => context.unexpected::<Self, _>(node),
                }
            }

            fn schema(_: &mut Definitions) -> serde_json::Value {
                json!({ "type": "integer", "minimum": $range.start(), "maximum": $range.end() })
            }
        }
    };
}

bounded!(Positive, (1..=4_294_967_295_i64), "a whole number from 1 to 4294967295");
bounded!(Mss, (48..=65_495_i64), "a number of bytes from 48 (40 of options, 8 of data) to 65495");
bounded!(PacketBytes, (28..=65_535_i64), "a number of bytes from 28 to 65535");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(quantity("0.1s", &[TIMES]), Ok(100_000_000));
        assert_eq!(quantity("1.5 ms", &[TIMES]), Ok(1_500_000));
        assert_eq!(quantity("0.25us", &[TIMES]), Ok(250));
        assert_eq!(quantity("2.5Gbit/s", &[RATES]), Ok(2_500_000_000));
        assert_eq!(quantity("1.50KiB", &[SIZES]), Ok(1536));
        assert_eq!(quantity("1 packet", &[PACKETS, SIZES]), Ok(1));
    }

    #[test]
    fn errors_of_quantities_are_distinguished() {
        for text in ["", "s", "1", "1.s", ".5s", "1.2.3s", "1e3s", "1 sec", "10Mb", "+1s", "1S"] {
            assert_eq!(quantity(text, &[TIMES, RATES]), Err(QuantityError::Form), "{text:?}");
        }
        assert_eq!(quantity("-1s", &[TIMES]), Err(QuantityError::Negative));
        assert_eq!(quantity("0.5ns", &[TIMES]), Err(QuantityError::Range));
        assert_eq!(quantity("99999999999999999999s", &[TIMES]), Err(QuantityError::Range));
        let long = format!("0.{}1s", "0".repeat(60));
        assert_eq!(quantity(&long, &[TIMES]), Err(QuantityError::Range));
    }
}
