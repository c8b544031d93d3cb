//! What the flags of `windlass tou` say.

use crate::args::{PathOptions, Transport};
use crate::failure::Failure;
use windlass_sim::scenario::parse_size;
use windlass_tcp::Profile;
use windlass_tcp::cc::NAMES;
use windlass_tcp::config::EcnEcho;
use windlass_tou::{Options, congestion};

/// More than any path needs, and less than any machine that has such paths has.
const BUFFER_MAX: u64 = 4 << 30;
/// A few segments.
const BUFFER_MIN: u64 = 4096;

/// The options of a connection.
pub(super) fn options(how: &Transport) -> Result<Options, Failure> {
    let congestion = congestion(&how.cc).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(Options { congestion, ecn: how.ecn, ..path_options(&how.path) })
}

/// The same where the peer says the rest.
pub(super) fn path_options(path: &PathOptions) -> Options {
    Options {
        profile: path.profile,
        ecn_echo: path.ecn_echo,
        pacing: !path.no_pacing,
        mss: path.mss,
        send_buffer: path.send_buffer,
        receive_buffer: path.receive_buffer,
        ..Options::default()
    }
}

/// The name of a congestion controller.
pub(crate) fn parse_cc(text: &str) -> Result<String, String> {
    if NAMES.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected one of {}", NAMES.join(", ")))
}

/// The name of a profile.
pub(crate) fn parse_profile(text: &str) -> Result<Profile, String> {
    let names = || Profile::ALL.map(Profile::name).join(", ");
    Profile::by_name(text).ok_or_else(|| format!("expected one of {}", names()))
}

/// How marks are echoed, under the names of scenario files.
pub(crate) fn parse_echo(text: &str) -> Result<EcnEcho, String> {
    match text {
        "until-cwr" => Ok(EcnEcho::UntilCwr),
        "once-per-ce" => Ok(EcnEcho::OncePerCe),
        _ => Err("expected until-cwr or once-per-ce".to_owned()),
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
    parse_size(&format!("{number}{unit}"))
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

#[cfg(test)]
mod tests {
    use super::*;

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
