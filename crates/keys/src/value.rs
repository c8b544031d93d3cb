//! Values of keys: words and numbers, quantities, paths.

use crate::decode::{Context, Decode};
use crate::definitions::Definitions;
use crate::problem::Message;
use crate::quantity::{Quantity, RATE, SIZE, TIME};
use crate::tree::{Node, Value};
use serde_json::json;
use std::path::PathBuf;
use windlass_base::paths::in_folder;
use windlass_base::{BitRate, Span};

impl<R> Decode<R> for String {
    const EXPECTED: &'static str = "text in quotes";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

/// A name that is valid in results and file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub String);

impl<R> Decode<R> for Name {
    const EXPECTED: &'static str =
        "a name of letters, digits and . _ - + that begins with a letter or digit";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        match &node.value {
            Value::Text(text)
                if (1..=100).contains(&text.len())
                    && text.chars().all(allowed)
                    && text.starts_with(|c: char| c.is_ascii_alphanumeric()) =>
            {
                Some(Name(text.clone()))
            }
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$" })
    }
}

impl<R> Decode<R> for bool {
    const EXPECTED: &'static str = "true or false";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        match node.value {
            Value::Bool(truth) => Some(truth),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "boolean" })
    }
}

macro_rules! whole_number {
    ($type:ty, $expected:literal) => {
        impl<R> Decode<R> for $type {
            const EXPECTED: &'static str = $expected;

            fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
                match node.value {
                    Value::Integer(number) => <$type>::try_from(number).ok(),
                    _ => None,
                }
                .or_else(|| context.unexpected::<Self, _>(node))
            }

            fn schema(_: &mut Definitions<R>) -> serde_json::Value {
                // TOML's integers end at 2^63 - 1.
                let maximum = i64::try_from(<$type>::MAX).unwrap_or(i64::MAX);
                json!({ "type": "integer", "minimum": 0, "maximum": maximum })
            }
        }
    };
}

whole_number!(u16, "a whole number from 0 to 65535");
whole_number!(u32, "a whole number from 0 to 4294967295");
whole_number!(u64, "a whole number, not negative");

impl<R> Decode<R> for f64 {
    const EXPECTED: &'static str = "a finite number";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        match node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) if number.is_finite() => Some(number),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "number" })
    }
}

/// A table with any content, which is not read.
#[derive(Clone, Debug)]
pub struct FreeTable;

impl<R> Decode<R> for FreeTable {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        if node.table().is_some() { Some(FreeTable) } else { context.unexpected::<Self, _>(node) }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "object" })
    }
}

/// A number of bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// A rate; `None` is zero.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RateOrZero(pub Option<BitRate>);

const RATE_OR_ZERO: Quantity = Quantity {
    expected: "a rate such as \"10Mbit/s\" or \"0bit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)",
    ..RATE
};

/// A value that is read from the amount of a quantity.
macro_rules! quantity {
    ($type:ty, $quantity:expr, $from:expr) => {
        impl<R> Decode<R> for $type {
            const EXPECTED: &'static str = $quantity.expected;

            fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
                let from: fn(u64) -> Option<Self> = $from;
                let amount = $quantity.decode(node, context)?;
                from(amount).or_else(|| context.unexpected::<Self, _>(node))
            }

            fn schema(_: &mut Definitions<R>) -> serde_json::Value {
                $quantity.schema()
            }
        }
    };
}

quantity!(Span, TIME, |nanos| Some(Span::from_nanos(nanos)));
quantity!(BitRate, RATE, BitRate::from_bits_per_sec);
quantity!(RateOrZero, RATE_OR_ZERO, |bits| Some(RateOrZero(BitRate::from_bits_per_sec(bits))));
quantity!(Bytes, SIZE, |bytes| Some(Bytes(bytes)));

/// A number from 0 to 1.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Probability(pub f64);

impl<R> Decode<R> for Probability {
    const EXPECTED: &'static str = "a probability from 0 to 1";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        match node.value {
            Value::Integer(number @ 0..=1) => Some(Probability(number as f64)),
            Value::Float(number) if (0.0..=1.0).contains(&number) => Some(Probability(number)),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// The version of a format. Each has had only one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Version;

impl<R> Decode<R> for Version {
    const EXPECTED: &'static str = "`schema = 1`, the version of the format";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        match node.value {
            Value::Integer(1) => Some(Version),
            Value::Integer(found) if u32::try_from(found).is_ok() => {
                let expected = "1, the only version there is".to_owned();
                let found = found.to_string();
                context.wrong(node.position, Message::Unexpected { expected, found });
                None
            }
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        u32::schema(definitions)
    }
}

/// The path of a file. A relative one begins in the directory of the document, and `~/` is the home
/// directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(pub PathBuf);

impl<R> Decode<R> for FilePath {
    const EXPECTED: &'static str = "a path in quotes";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let Value::Text(text) = &node.value else { return context.unexpected::<Self, _>(node) };
        let path = in_folder(context.directory(), text);
        path.map_err(|message| context.wrong(node.position, message)).ok().map(FilePath)
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

bounded! {
    /// A whole number above zero.
    pub struct Positive(u32) in 1..=4_294_967_295, "a whole number from 1 to 4294967295";
}
