//! Quantities: times, rates, sizes, probabilities.

use windlass_base::{BitRate, Span};
use windlass_keys as keys;

/// More than any path needs, and less than any machine that has such paths has.
const BUFFER_MAX: u64 = 4 << 30;
/// A few segments.
const BUFFER_MIN: u64 = 4096;

/// A rate: `10M`, tc's `10mbit`, or the `10Mbit/s` of scenario files. A bare number is bits per
/// second.
pub(crate) fn parse_rate(text: &str) -> Result<BitRate, String> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let written = &text[number.len()..];
    let unit = match written {
        "" | "bit" => "bit/s",
        "k" | "K" | "kbit" | "Kbit" => "kbit/s",
        "M" | "mbit" | "Mbit" => "Mbit/s",
        "G" | "gbit" | "Gbit" => "Gbit/s",
        unit => unit,
    };
    keys::parse_rate(&format!("{number}{unit}")).map_err(|_| {
        let meant = bits_per_second(written)
            .filter(|unit| keys::parse_rate(&format!("{number}{unit}")).is_ok());
        let hint =
            meant.map_or_else(String::new, |unit| format!("; did you mean \"{number}{unit}\"?"));
        format!("expected a rate above zero such as 10M, 256k or 1.5Gbit/s{hint}")
    })
}

/// The unit that a common other spelling of it means, such as `Mbps`.
fn bits_per_second(spelling: &str) -> Option<&'static str> {
    let lower = spelling.trim().to_ascii_lowercase();
    let prefix = ["bps", "bits/s", "bit/sec", "bits/sec", "bit/s", "b/s"]
        .into_iter()
        .find_map(|end| lower.strip_suffix(end))?;
    // B/s and BPS are bytes.
    match (prefix, spelling.contains('B')) {
        ("", false) => Some("bit/s"),
        ("k", false) => Some("kbit/s"),
        ("m", false) => Some("Mbit/s"),
        ("g", false) => Some("Gbit/s"),
        _ => None,
    }
}

/// A time such as `40ms`. A bare number is seconds.
pub(crate) fn parse_time(text: &str) -> Result<Span, String> {
    keys::parse_time(&with_seconds(text)).map_err(|_| {
        "expected a time such as 40ms, 3s, 2min or 1h; a bare number is seconds".to_owned()
    })
}

/// `text` with the unit seconds, if it is a bare number.
pub(crate) fn with_seconds(text: &str) -> String {
    let bare = text.ends_with(|c: char| c.is_ascii_digit());
    if bare { format!("{text}s") } else { text.to_owned() }
}

/// A probability: `0.01` or `1%`.
pub(crate) fn parse_probability(text: &str) -> Result<f64, String> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    value
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a probability from 0 to 1 such as 0.01 or 1%".to_owned())
}

/// A time above zero, as [`parse_time`] reads it.
pub(crate) fn parse_nonzero_time(text: &str) -> Result<Span, String> {
    match parse_time(text)? {
        Span::ZERO => Err("expected a time above zero".to_owned()),
        time => Ok(time),
    }
}

/// Bytes above zero: `100M`, `64KiB`, or a bare number.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[number.len()..] {
        "" => "B",
        "k" | "K" | "KB" => "kB",
        "M" => "MB",
        "G" => "GB",
        unit => unit,
    };
    keys::parse_size(&format!("{number}{unit}"))
        .ok()
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected bytes above zero such as 100M, 64KiB or 1500".to_owned())
}

/// The size of a buffer.
pub(crate) fn parse_buffer(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text)?;
    if (BUFFER_MIN..=BUFFER_MAX).contains(&bytes) {
        return Ok(bytes);
    }
    Err("expected 4KiB to 4GiB".to_owned())
}

pub(crate) fn parse_connection_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (0.01..=100_000.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0.01 to 100000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_tc_mahimahi_and_scenarios_write_them() {
        for text in ["10M", "10mbit", "10Mbit", "10Mbit/s", "10000k", "10000kbit/s", "10000000"] {
            let rate = parse_rate(text).expect(text);
            assert_eq!(rate.bits_per_sec(), 10_000_000, "{text}");
        }
        for text in ["", "M", "10mb", "10MB", "-1M", "0M", "10 apples"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_decimal_unless_they_say_otherwise() {
        for (text, bytes) in [
            ("1500", 1500),
            ("100M", 100_000_000),
            ("1.5k", 1500),
            ("64KiB", 65_536),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "M", "-5", "1.5", "3 apples", "99999999999999999999"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
        assert!(parse_buffer("1k").is_err() && parse_buffer("5GiB").is_err());
    }
}
