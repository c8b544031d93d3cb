//! The one way in which Windlass reads addresses, networks and host names. Needs the feature `address`.
//!
//! An IPv4 address has four decimal numbers, without leading zeros (RFC 6943 section 3.1.1, the strict form).
//! The C library's `inet_aton` also reads octal and hexadecimal numbers, and fewer than four. So
//! `010.0.0.1` is 8.0.0.1 to one program and 10.0.0.1 to another. Windlass refuses such text, as
//! an address and as a name, because `getaddrinfo` would read the name in that way.
//!
//! An IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) is the IPv4 address in it, so that
//! lists in either form compare equal.

use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use ipnet::{IpNet, Ipv4Net};
use std::format;
use std::string::{String, ToString};

/// Why a text is no address, network or host. Its text quotes the beginning of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    text: String,
    why: String,
}

impl AddressError {
    /// The reason alone, without the input.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.text, self.why)
    }
}

impl core::error::Error for AddressError {}

impl From<AddressError> for String {
    fn from(error: AddressError) -> String {
        error.to_string()
    }
}

/// A host as users name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host<'a> {
    /// An address; never an IPv4-mapped one.
    Address(IpAddr),
    /// An IPv6 address and its zone (RFC 4007 section 11): the name or the number of an interface.
    Zoned(Ipv6Addr, &'a str),
    /// A name to resolve.
    Name(&'a str),
}

/// The most bytes of a name in text, and of a label in it (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;
/// Characters that separate the labels of an international name, the ASCII dot among them (UTS 46,
/// section 2.3).
const DOTS: [char; 4] = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
/// The bits before the IPv4 address in an IPv4-mapped one.
const MAPPED_BITS: u8 = 96;

/// Reads an address.
///
/// # Errors
///
/// The text is no address, or has a zone.
pub fn parse_ip(text: &str) -> Result<IpAddr, AddressError> {
    match text.parse::<IpAddr>() {
        Ok(address) => Ok(address.to_canonical()),
        Err(_) => Err(refuse(text, &why_no_address(text))),
    }
}

/// Reads a network (CIDR), or an address, which is a network of one. Bits beyond the prefix are
/// cleared: 10.1.2.3/8 is 10.0.0.0/8, as its length says.
///
/// # Errors
///
/// The text is neither.
pub fn parse_network(text: &str) -> Result<IpNet, AddressError> {
    match text.contains('/') {
        true => parse_interface(text).map(|network| network.trunc()),
        false => parse_ip(text).map(IpNet::from),
    }
}

/// Reads the address of an interface with the length of its network: 10.0.0.1/24.
///
/// # Errors
///
/// The text is no address with a length.
pub fn parse_interface(text: &str) -> Result<IpNet, AddressError> {
    let expected = "expected an address and the length of its prefix, such as 10.0.0.1/24";
    let (address, len) = text.split_once('/').ok_or_else(|| refuse(text, expected))?;
    let ip: IpAddr = address.parse().map_err(|_| refuse(text, &why_no_address(address)))?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let plain = !len.is_empty() && len.bytes().all(|byte| byte.is_ascii_digit());
    let plain = plain && (len.len() == 1 || !len.starts_with('0'));
    let len = len.parse::<u8>().ok().filter(|len| plain && *len <= most);
    let len = len.ok_or_else(|| {
        refuse(text, &format!("expected a length of the prefix from 0 to {most} after the slash"))
    })?;
    let impossible = |_| refuse(text, expected);
    match (ip, ip.to_canonical()) {
        (IpAddr::V6(_), IpAddr::V4(v4)) => {
            let len = len.checked_sub(MAPPED_BITS).ok_or_else(|| {
                refuse(text, "the prefix of an IPv4-mapped address has 96 bits or more")
            })?;
            Ipv4Net::new(v4, len).map(IpNet::V4).map_err(impossible)
        }
        (ip, _) => IpNet::new(ip, len).map_err(impossible),
    }
}

/// Reads a host: an address, an IPv6 address with a zone, or a name.
///
/// # Errors
///
/// The text is no host. A name that ends in a number is refused: no top-level domain is one
/// (RFC 1123 section 2.1), and `getaddrinfo` would read 0x7f.1 and 2130706433 as 127.0.0.1.
pub fn parse_host(text: &str) -> Result<Host<'_>, AddressError> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(Host::Address(address.to_canonical()));
    }
    if text.contains(':') {
        return match text.split_once('%') {
            Some((address, zone)) if is_zone(zone) => match address.parse() {
                Ok(address) => Ok(Host::Zoned(address, zone)),
                Err(_) => Err(refuse(text, &why_no_address(address))),
            },
            _ => Err(refuse(text, &why_no_address(text))),
        };
    }
    if text.is_empty() || text.len() > NAME_BYTES_MAX {
        return Err(refuse(text, "a name has 1 to 253 bytes"));
    }
    let strange = |c: char| c.is_control() || c.is_whitespace() || "/%[]@#?\\".contains(c);
    if text.contains(strange) {
        return Err(refuse(text, "a name has no such characters"));
    }
    if is_numeric(text) {
        return Err(refuse(text, &why_no_address(text)));
    }
    // The dot at the end is the root's.
    let mut labels = text.strip_suffix('.').unwrap_or(text).split('.');
    match labels.all(|label| (1..=LABEL_BYTES_MAX).contains(&label.len())) {
        true => Ok(Host::Name(text)),
        false => Err(refuse(text, "between the dots of a name are 1 to 63 bytes")),
    }
}

fn is_zone(zone: &str) -> bool {
    !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'%')
}

/// Whether the last label is a number, so that the text is meant as an IPv4 address.
fn is_numeric(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let last = text.rsplit(DOTS).next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let digits = !last.is_empty() && last.chars().all(char::is_numeric);
    digits || hexadecimal.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_hexdigit()))
}

fn why_no_address(text: &str) -> String {
    const EXPECTED: &str = "expected an address such as 192.0.2.1 or 2001:db8::1";
    if let Some((_, zone)) = text.split_once('%').filter(|_| text.contains(':')) {
        return format!("an address without a zone is expected, and this has the zone {zone:?}");
    }
    if text.contains(':') || !is_numeric(text) {
        return EXPECTED.to_string();
    }
    let parts = || text.split('.');
    let zero = parts().find(|part| part.len() > 1 && part.starts_with('0'));
    match zero {
        Some(part) if part.starts_with("0x") || part.starts_with("0X") => {
            format!("{EXPECTED}; {part:?} is hexadecimal")
        }
        Some(part) => format!(
            "{EXPECTED}; {part:?} begins with a zero, which some programs read as octal: leave the zeros out"
        ),
        None if text.ends_with('.') => format!("{EXPECTED}, without a dot at the end"),
        None if parts().count() != 4 => {
            format!("{EXPECTED}: four numbers, and this has {}", parts().count())
        }
        None => format!("{EXPECTED}: four numbers from 0 to 255"),
    }
}

fn refuse(text: &str, why: &str) -> AddressError {
    AddressError { text: text.chars().take(60).collect(), why: why.to_string() }
}

#[cfg(test)]
mod tests;
