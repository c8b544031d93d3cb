//! Readers of quantities with units, for the settings of your own kinds:
//! `#[serde(deserialize_with = "windlass_scenario::settings::time")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use windlass_base::{BitRate, Span};
use windlass_keys::{parse_rate, parse_size, parse_time};

/// A time such as `"94ms"`.
///
/// # Errors
///
/// The value is no text, or no time with a unit.
pub fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
    parse_time(&String::deserialize(deserializer)?).map_err(Error::custom)
}

/// A rate such as `"10Mbit/s"`.
///
/// # Errors
///
/// The value is no text, or no rate with a unit.
pub fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BitRate, D::Error> {
    parse_rate(&String::deserialize(deserializer)?).map_err(Error::custom)
}

/// A size such as `"64KiB"`, in bytes.
///
/// # Errors
///
/// The value is no text, or no size with a unit.
pub fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    parse_size(&String::deserialize(deserializer)?).map_err(Error::custom)
}
