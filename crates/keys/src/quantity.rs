//! Quantities with their units. Decimals are read exactly, not through floating point: `"0.1s"` is
//! 100,000,000 ns.

use crate::decode::Context;
use crate::problem::Message;
use crate::tree::{Node, Value};
use serde_json::json;
use windlass_base::{BitRate, Span};

/// The name of a unit, and how many base units it is.
pub type Unit = (&'static str, u64);

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
/// The units of sizes; the base unit is the byte.
pub const SIZES: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// A kind of quantity: how messages name it, and its units.
#[derive(Copy, Clone, Debug)]
pub struct Quantity {
    /// The expected value as messages name it.
    pub expected: &'static str,
    /// The units, in groups.
    pub units: &'static [&'static [Unit]],
}

/// A time in nanoseconds.
pub(crate) const TIME: Quantity =
    Quantity { expected: "a time such as \"94ms\" (ns, us, ms, s, min, h)", units: &[TIMES] };

/// A rate above zero in bits per second.
pub(crate) const RATE: Quantity = Quantity {
    expected: "a rate above zero such as \"10Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)",
    units: &[RATES],
};

/// A size in bytes.
pub(crate) const SIZE: Quantity = Quantity {
    expected: "a size such as \"64KiB\" (B, kB, MB, GB, KiB, MiB, GiB)",
    units: &[SIZES],
};

impl Quantity {
    /// The amount of a text in base units.
    ///
    /// # Errors
    ///
    /// The expected form, and a suggestion for a unit that resembles a known one.
    pub fn parse(&self, text: &str) -> Result<u64, String> {
        amount(text, self.units).map_err(|_| self.refusal(text))
    }

    fn refusal(&self, text: &str) -> String {
        format!("expected {}{}", self.expected, did_you_mean_unit(text, self.units))
    }

    /// The amount of a node in base units, which must be given as text. `None` after reporting the problem.
    pub fn decode<R>(&self, node: &Node, context: &mut Context<R>) -> Option<u64> {
        let error = match &node.value {
            Value::Text(text) => match amount(text, self.units) {
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
            (QuantityError::Form, Value::Text(text)) => did_you_mean_unit(text, self.units),
            _ => String::new(),
        };
        let found = format!("{}{why}{near}", node.shown());
        let expected = self.expected.to_owned();
        context.wrong(node.position, Message::Unexpected { expected, found });
        None
    }

    /// Its JSON Schema.
    pub fn schema(&self) -> serde_json::Value {
        let names: Vec<_> = self.units.iter().copied().flatten().map(|(name, _)| *name).collect();
        let pattern = format!("^[0-9]+(\\.[0-9]+)? *({})$", names.join("|"));
        json!({ "type": "string", "pattern": pattern })
    }
}

/// Parses a time such as `94ms`.
///
/// # Errors
///
/// The expected form, and a suggestion for a unit that resembles a known one.
pub fn parse_time(text: &str) -> Result<Span, String> {
    TIME.parse(text).map(Span::from_nanos)
}

/// Parses a rate above zero such as `10Mbit/s`.
///
/// # Errors
///
/// The expected form, and a suggestion for a unit that resembles a known one.
pub fn parse_rate(text: &str) -> Result<BitRate, String> {
    BitRate::from_bits_per_sec(RATE.parse(text)?).ok_or_else(|| RATE.refusal(text))
}

/// Parses a size such as `64KiB`, in bytes.
///
/// # Errors
///
/// The expected form, and a suggestion for a unit that resembles a known one.
pub fn parse_size(text: &str) -> Result<u64, String> {
    SIZE.parse(text)
}

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
fn amount(text: &str, units: &[&[Unit]]) -> Result<u64, QuantityError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: &[Unit] = &[("packets", 1), ("packet", 1)];

    #[test]
    fn decimals_are_exact() {
        assert_eq!(amount("0.1s", &[TIMES]), Ok(100_000_000));
        assert_eq!(amount("1.5 ms", &[TIMES]), Ok(1_500_000));
        assert_eq!(amount("0.25us", &[TIMES]), Ok(250));
        assert_eq!(amount("2.5Gbit/s", &[RATES]), Ok(2_500_000_000));
        assert_eq!(amount("1.50KiB", &[SIZES]), Ok(1536));
        assert_eq!(amount("1 packet", &[PACKETS, SIZES]), Ok(1));
    }

    #[test]
    fn errors_of_quantities_are_distinguished() {
        for text in ["", "s", "1", "1.s", ".5s", "1.2.3s", "1e3s", "1 sec", "10Mb", "+1s", "1S"] {
            assert_eq!(amount(text, &[TIMES, RATES]), Err(QuantityError::Form), "{text:?}");
        }
        assert_eq!(amount("-1s", &[TIMES]), Err(QuantityError::Negative));
        assert_eq!(amount("0.5ns", &[TIMES]), Err(QuantityError::Range));
        assert_eq!(amount("99999999999999999999s", &[TIMES]), Err(QuantityError::Range));
        let long = format!("0.{}1s", "0".repeat(60));
        assert_eq!(amount(&long, &[TIMES]), Err(QuantityError::Range));
    }
}
