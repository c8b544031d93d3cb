//! The messages of SOCKS 5 (RFC 1928), without I/O.
//!
//! `Ok(None)` means that the message is not complete.

use crate::protocol::Status;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const VERSION: u8 = 5;
/// The method without authentication (section 3).
pub(crate) const NO_AUTHENTICATION: u8 = 0;
/// No method of the client is acceptable (section 3).
pub(crate) const NO_METHOD: u8 = 0xFF;
/// The longest message: a request with a name of 255 bytes.
pub const MESSAGE_MAX: usize = 262;

const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// A message that no client of SOCKS 5 sends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SocksError {
    /// The client speaks another version.
    Version(u8),
    /// The name is no text.
    Name,
    /// There is no such type of address.
    AddressType(u8),
}

impl fmt::Display for SocksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocksError::Version(4) => {
                f.write_str("the program speaks SOCKS 4, which has no names; set it to SOCKS 5")
            }
            // The first letters of GET, POST, HEAD and CONNECT.
            SocksError::Version(b'G' | b'P' | b'H' | b'C') => {
                f.write_str("the program speaks HTTP; set it to SOCKS 5")
            }
            SocksError::Version(found) => write!(f, "version {found} of SOCKS, expected 5"),
            SocksError::Name => f.write_str("a host name that is no text"),
            SocksError::AddressType(found) => write!(f, "the unknown address type {found}"),
        }
    }
}

impl std::error::Error for SocksError {}

/// The client's first message. Returns whether it takes part without authentication, and the length of
/// the message.
///
/// # Errors
/// [`SocksError::Version`].
pub fn parse_greeting(bytes: &[u8]) -> Result<Option<(bool, usize)>, SocksError> {
    match *bytes {
        [version, ..] if version != VERSION => Err(SocksError::Version(version)),
        [_, count, ref methods @ ..] => {
            let methods = methods.get(..usize::from(count));
            Ok(methods.map(|methods| (methods.contains(&NO_AUTHENTICATION), 2 + methods.len())))
        }
        _ => Ok(None),
    }
}

/// The server's choice of a method.
pub(crate) fn method_selection(method: u8) -> [u8; 2] {
    [VERSION, method]
}

/// The request of a client (RFC 1928, section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocksRequest {
    /// CONNECT; other commands are BIND and UDP ASSOCIATE.
    pub connect: bool,
    /// An address or a name.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// The client's request. Returns it with the length of the message.
///
/// # Errors
/// As listed in [`SocksError`].
pub fn parse_request(bytes: &[u8]) -> Result<Option<(SocksRequest, usize)>, SocksError> {
    if let Some(version) = bytes.first().filter(|version| **version != VERSION) {
        return Err(SocksError::Version(*version));
    }
    let [_, command, _, kind, rest @ ..] = bytes else { return Ok(None) };
    let (host_len, prefix) = match (*kind, rest.first()) {
        (IPV4, _) => (4, 0),
        (IPV6, _) => (16, 0),
        (NAME, None) => return Ok(None),
        (NAME, Some(len)) => (usize::from(*len), 1),
        (other, _) => return Err(SocksError::AddressType(other)),
    };
    let Some(body) = rest.get(prefix..prefix + host_len + 2) else { return Ok(None) };
    let (host, port) = body.split_at(host_len);
    let host = match *kind {
        IPV4 => host.try_into().map(|octets: [u8; 4]| Ipv4Addr::from(octets).to_string()),
        IPV6 => host.try_into().map(|octets: [u8; 16]| Ipv6Addr::from(octets).to_string()),
        _ => Ok(std::str::from_utf8(host).map_err(|_| SocksError::Name)?.to_owned()),
    };
    // The lengths are those of the arrays.
    let host = host.map_err(|_| SocksError::Name)?;
    let request = SocksRequest {
        connect: *command == CONNECT,
        host,
        port: u16::from_be_bytes([port[0], port[1]]),
    };
    Ok(Some((request, 4 + prefix + body.len())))
}

/// The server's answer (section 6).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reply {
    /// The connection is open.
    Succeeded = 0,
    /// None of the others.
    Failure = 1,
    /// The rules do not allow the connection.
    NotAllowed = 2,
    /// There is no route to the network.
    NetworkUnreachable = 3,
    /// The host cannot be reached, or the name is unknown.
    HostUnreachable = 4,
    /// The host refuses the connection.
    Refused = 5,
    /// The host does not answer.
    TtlExpired = 6,
    /// The command is not CONNECT.
    CommandNotSupported = 7,
    /// The type of the address is unknown.
    AddressTypeNotSupported = 8,
}

impl Reply {
    /// The reply for a peer's refusal.
    pub(crate) fn of_status(status: Status) -> Reply {
        match status {
            Status::Connected => Reply::Succeeded,
            Status::NotAllowed => Reply::NotAllowed,
            Status::Refused => Reply::Refused,
            Status::NetworkUnreachable => Reply::NetworkUnreachable,
            Status::HostUnreachable | Status::NameNotFound => Reply::HostUnreachable,
            Status::TimedOut => Reply::TtlExpired,
            _ => Reply::Failure,
        }
    }

    /// The message, with an unspecified address: the one that the peer uses is its own affair.
    pub fn encode(self) -> Vec<u8> {
        let bound = SocketAddr::from(([0, 0, 0, 0], 0));
        let IpAddr::V4(ip) = bound.ip() else { return Vec::new() };
        [&[VERSION, self as u8, 0, IPV4][..], &ip.octets(), &bound.port().to_be_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_waits_for_all_methods() {
        assert_eq!(parse_greeting(&[]), Ok(None));
        assert_eq!(parse_greeting(&[5, 2, 2]), Ok(None));
        assert_eq!(parse_greeting(&[5, 2, 2, 0, 9]), Ok(Some((true, 4))));
        assert_eq!(parse_greeting(&[5, 1, 2]), Ok(Some((false, 3))));
        assert_eq!(parse_greeting(&[4]), Err(SocksError::Version(4)));
        assert!(parse_greeting(b"GET").expect_err("HTTP").to_string().contains("HTTP"));
    }

    #[test]
    fn requests_of_each_address_type() {
        let name = b"\x05\x01\x00\x03\x0bexample.org\x01\xbbrest";
        let host = |host: &str| SocksRequest { connect: true, host: host.into(), port: 443 };
        assert_eq!(parse_request(name), Ok(Some((host("example.org"), 18))));
        for cut in 0..18 {
            assert_eq!(parse_request(&name[..cut]), Ok(None), "{cut}");
        }
        let v4 = [5, 1, 0, 1, 192, 0, 2, 1, 1, 0xbb];
        assert_eq!(parse_request(&v4), Ok(Some((host("192.0.2.1"), 10))));
        let mut v6 = vec![5, 1, 0, 4];
        v6.extend([0; 15]);
        v6.extend([1, 1, 0xbb]);
        assert_eq!(parse_request(&v6), Ok(Some((host("::1"), 22))));
    }

    #[test]
    fn other_commands_and_addresses_are_distinguished() {
        let udp = [5, 3, 0, 1, 0, 0, 0, 0, 0, 0];
        assert!(!parse_request(&udp).expect("a request").expect("complete").0.connect);
        assert_eq!(parse_request(&[5, 1, 0, 2]), Err(SocksError::AddressType(2)));
        assert_eq!(parse_request(&[5, 1, 0, 3, 1, 0xff, 0, 1]), Err(SocksError::Name));
    }

    #[test]
    fn a_reply_has_the_form_of_the_rfc() {
        assert_eq!(Reply::CommandNotSupported.encode(), [5, 7, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
}
