//! Parsers of single values, the same for options and files. Each error says which form was
//! expected, and quotes the text.

use super::{LogFormat, Ports};
use crate::datapath::Policy;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use windlass_base::address;
use windlass_base::suggest::did_you_mean;

/// The longest name of an interface (IFNAMSIZ less the zero at its end).
const NAME_LEN_MAX: usize = 15;
/// The most entries of a table; above it the memory is hundreds of gigabytes.
pub(super) const SIZE_MAX: u32 = 1 << 26;
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 86_400);

/// The policies, by their names.
pub(super) const POLICIES: [(&str, Policy); 3] =
    [("virtual-loss", Policy::VirtualLoss), ("drop", Policy::Drop), ("no-ect", Policy::NoEct)];

/// The name of a policy.
pub(crate) fn policy_name(policy: Policy) -> &'static str {
    POLICIES.into_iter().find(|(_, one)| *one == policy).map_or("", |(name, _)| name)
}

/// The name of an interface.
///
/// # Errors
///
/// The text is empty, too long, or has a character that no interface name has.
pub fn parse_interface(text: &str) -> Result<String, String> {
    let bad = |byte: u8| byte == b'/' || byte == b':' || byte.is_ascii_whitespace();
    let valid = (1..=NAME_LEN_MAX).contains(&text.len()) && !text.bytes().any(bad);
    match valid && text != "." && text != ".." {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected the name of an interface, 1 to {NAME_LEN_MAX} characters, found {text:?}"
        )),
    }
}

/// `virtual-loss`, `drop` or `no-ect`.
///
/// # Errors
///
/// No policy has this name; the message suggests the nearest one.
pub fn parse_policy(text: &str) -> Result<Policy, String> {
    let found = POLICIES.into_iter().find(|(name, _)| *name == text).map(|(_, policy)| policy);
    found.ok_or_else(|| {
        let hint = did_you_mean(text, POLICIES.map(|(name, _)| name));
        format!("expected virtual-loss, drop or no-ect, found {text:?}{hint}")
    })
}

/// The levels of the log, from none to all.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A level, or directives such as `warn,windlass_ecn_proxy=debug`, in the syntax of RUST_LOG.
///
/// # Errors
///
/// A directive has an unknown level, or `EnvFilter` refuses it.
pub fn parse_log(text: &str) -> Result<String, String> {
    let expected = "expected off, error, warn, info, debug or trace, or directives such as \
                    warn,windlass_ecn_proxy=debug";
    for directive in text.split(',') {
        // A bare word is a level or a target; as a target, a misspelt level would silence the log.
        let (target, level) = directive.rsplit_once('=').unwrap_or(("", directive));
        let is_level = LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level));
        if !is_level || directive.starts_with('=') {
            let hint = did_you_mean(level, LEVELS);
            return Err(format!("{expected}, found {directive:?}{hint}"));
        }
        if EnvFilter::try_new(directive).is_err() {
            return Err(format!("{expected}, found the target {target:?}"));
        }
    }
    Ok(text.to_owned())
}

/// `text` or `json`.
///
/// # Errors
///
/// The text is neither of them.
pub fn parse_log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("expected text or json, found {text:?}")),
    }
}

/// An address or a prefix, as [`windlass_base::address::parse_network`] reads it.
///
/// # Errors
///
/// The text is no address or prefix; the message says why.
pub fn parse_prefix(text: &str) -> Result<IpNet, String> {
    address::parse_network(text).map_err(|error| {
        let why = error.why();
        format!("expected a prefix such as 192.168.0.0/16 or fd00::/8, found {text:?}: {why}")
    })
}

/// A port or a range of ports.
///
/// # Errors
///
/// The text is no port from 1 to 65535, or the range is empty.
pub fn parse_ports(text: &str) -> Result<Ports, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse::<u16>(), last.trim().parse::<u16>()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err(format!(
            "expected a port such as 443, or a range such as 8000-8999, found {text:?}"
        )),
    }
}

/// The number of entries of a table.
///
/// # Errors
///
/// The text is no whole number from 1 to 2^26.
pub fn parse_size(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|size| (1..=SIZE_MAX).contains(size));
    number.ok_or_else(|| format!("expected a whole number from 1 to {SIZE_MAX}, found {text:?}"))
}

/// A bit of the packet mark.
///
/// # Errors
///
/// The text is no number from 0 to 31.
pub fn parse_mark_bit(text: &str) -> Result<u8, String> {
    let number = text.parse().ok().filter(|bit| *bit < 32);
    number.ok_or_else(|| format!("expected a bit of the packet mark, 0 to 31, found {text:?}"))
}

/// A time as in the other files of Windlass, such as `90s`, or one such as `10m` or `2h 4m`.
///
/// # Errors
///
/// The text is no time, or not from one second to a year.
pub fn parse_timeout(text: &str) -> Result<Duration, String> {
    let span = windlass_keys::parse_time(text).ok();
    let found = span.map(|span| Duration::from_nanos(span.as_nanos()));
    let found = found.or_else(|| humantime::parse_duration(text).ok());
    let found = found.filter(|time| (Duration::from_secs(1)..=TIMEOUT_MAX).contains(time));
    found.ok_or_else(|| {
        format!("expected a time such as 90s, 10m or 2h, from 1s to a year, found {text:?}")
    })
}

/// Where to serve metrics.
///
/// # Errors
///
/// The text is no address with a port.
pub fn parse_metrics(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an address and a port such as 127.0.0.1:9617";
    text.parse().map_err(|_| format!("{expected}, found {text:?}"))
}
