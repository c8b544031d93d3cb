//! Parsers of the values that are texts. Each message says which form was expected, and quotes the text.

use super::Ports;
use crate::datapath::Policy;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use windlass_base::address;
use windlass_base::suggest::did_you_mean;
use windlass_keys::Message;

/// The longest name of an interface (IFNAMSIZ less the zero at its end).
const NAME_LEN_MAX: usize = 15;
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 86_400);

/// The policies, by their names.
pub(super) const POLICIES: [(&str, Policy); 3] =
    [("virtual-loss", Policy::VirtualLoss), ("drop", Policy::Drop), ("no-ect", Policy::NoEct)];

/// The name of a policy.
pub(crate) fn policy_name(policy: Policy) -> &'static str {
    POLICIES.into_iter().find(|(_, one)| *one == policy).map_or("", |(name, _)| name)
}

fn unexpected(expected: &str, found: String) -> Message {
    Message::Unexpected { expected: expected.to_owned(), found }
}

/// The name of an interface: not empty, not too long, and of characters that such names have.
pub(super) fn parse_interface(text: &str) -> Result<String, Message> {
    let bad = |byte: u8| byte == b'/' || byte == b':' || byte.is_ascii_whitespace();
    let valid = (1..=NAME_LEN_MAX).contains(&text.len()) && !text.bytes().any(bad);
    match valid && text != "." && text != ".." {
        true => Ok(text.to_owned()),
        false => {
            let expected = format!("the name of an interface, 1 to {NAME_LEN_MAX} characters");
            Err(unexpected(&expected, format!("{text:?}")))
        }
    }
}

/// `virtual-loss`, `drop` or `no-ect`. The message suggests the nearest one.
pub(super) fn parse_policy(text: &str) -> Result<Policy, Message> {
    let found = POLICIES.into_iter().find(|(name, _)| *name == text).map(|(_, policy)| policy);
    found.ok_or_else(|| {
        let hint = did_you_mean(text, POLICIES.map(|(name, _)| name));
        unexpected("virtual-loss, drop or no-ect", format!("{text:?}{hint}"))
    })
}

/// The levels of the log, from none to all.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A level, or directives such as `warn,windlass_ecn_proxy=debug`, in the syntax of RUST_LOG. Refuses
/// unknown levels, and whatever `EnvFilter` refuses.
pub(super) fn parse_log(text: &str) -> Result<String, Message> {
    let expected = "off, error, warn, info, debug or trace, or directives such as \
                    warn,windlass_ecn_proxy=debug";
    for directive in text.split(',') {
        // A bare word is a level or a target; as a target, a misspelt level would silence the log.
        let (target, level) = directive.rsplit_once('=').unwrap_or(("", directive));
        let is_level = LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level));
        if !is_level || directive.starts_with('=') {
            let hint = did_you_mean(level, LEVELS);
            return Err(unexpected(expected, format!("{directive:?}{hint}")));
        }
        if EnvFilter::try_new(directive).is_err() {
            return Err(unexpected(expected, format!("the target {target:?}")));
        }
    }
    Ok(text.to_owned())
}

/// An address or a prefix, as [`windlass_base::address::parse_network`] reads it. The message says why
/// the text is none.
pub(super) fn parse_prefix(text: &str) -> Result<IpNet, Message> {
    address::parse_network(text).map_err(|error| {
        let expected = "a prefix such as 192.168.0.0/16 or fd00::/8";
        unexpected(expected, format!("{text:?}: {}", error.why()))
    })
}

/// A port from 1 to 65535, or a range of ports that is not empty.
pub(super) fn parse_ports(text: &str) -> Result<Ports, Message> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse::<u16>(), last.trim().parse::<u16>()) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => {
            let expected = "a port such as 443, or a range such as 8000-8999";
            Err(unexpected(expected, format!("{text:?}")))
        }
    }
}

/// A time as in the other files of Windlass, such as `90s`, or one such as `10m` or `2h 4m`.
///
/// # Errors
///
/// The text is no time, or not from one second to a year.
pub fn parse_timeout(text: &str) -> Result<Duration, Message> {
    let span = windlass_keys::parse_time(text).ok();
    let found = span.map(|span| Duration::from_nanos(span.as_nanos()));
    let found = found.or_else(|| humantime::parse_duration(text).ok());
    let found = found.filter(|time| (Duration::from_secs(1)..=TIMEOUT_MAX).contains(time));
    found.ok_or_else(|| {
        unexpected("a time such as 90s, 10m or 2h, from 1s to a year", format!("{text:?}"))
    })
}

/// An address with a port, where to serve metrics.
pub(super) fn parse_metrics(text: &str) -> Result<SocketAddr, Message> {
    let expected = "an address and a port such as 127.0.0.1:9617";
    text.parse().map_err(|_| unexpected(expected, format!("{text:?}")))
}
