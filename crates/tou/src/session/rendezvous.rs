//! How users name a rendezvous.

use super::answering::answering_first;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use windlass_base::address::{AddressError, parse_host};
use windlass_identity::{ParseKeyError, PublicKey};

/// The UDP port of STUN (RFC 8489 §18.6), and of a rendezvous.
const PORT: u16 = 3478;
/// The TCP port of TLS, which most firewalls let through.
const TLS_PORT: u16 = 443;

/// A rendezvous: `HOST[:PORT][/TLS-PORT][#KEY]`. The ports are 3478 and 443 unless given; an IPv6
/// address with a port stands in brackets. The key is that of the rendezvous itself; without it, TLS
/// does not authenticate the rendezvous, which could then only deny its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RendezvousAddress {
    /// A name or an address.
    pub host: String,
    /// The UDP port.
    pub port: u16,
    /// The TCP port of TLS.
    pub tls_port: u16,
    /// The rendezvous's public key.
    pub key: Option<PublicKey>,
}

/// Why a text names no rendezvous.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseRendezvousError {
    /// There is no host name or address.
    Host,
    /// The host is neither an address nor a name.
    Address(AddressError),
    /// This is no port.
    Port(String),
    /// The key is not one.
    Key(ParseKeyError),
}

impl fmt::Display for ParseRendezvousError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseRendezvousError::Host => {
                f.write_str("no host; expected HOST[:PORT][/TLS-PORT][#KEY]")
            }
            ParseRendezvousError::Address(error) => error.fmt(f),
            ParseRendezvousError::Port(text) => {
                write!(f, "{text}: not a port, expected a number from 1 to 65535")
            }
            ParseRendezvousError::Key(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ParseRendezvousError {}

fn port(text: &str) -> Result<u16, ParseRendezvousError> {
    let number = text.parse().ok().filter(|port| *port != 0);
    number.ok_or_else(|| ParseRendezvousError::Port(text.to_owned()))
}

impl FromStr for RendezvousAddress {
    type Err = ParseRendezvousError;

    fn from_str(text: &str) -> Result<RendezvousAddress, ParseRendezvousError> {
        let (rest, key) = match text.split_once('#') {
            Some((rest, key)) => (rest, Some(key.parse().map_err(ParseRendezvousError::Key)?)),
            None => (text, None),
        };
        let (rest, tls_port) = match rest.split_once('/') {
            Some((rest, tls)) => (rest, port(tls)?),
            None => (rest, TLS_PORT),
        };
        let (host, port) = match rest.strip_prefix('[') {
            Some(inner) => {
                let (host, after) = inner.split_once(']').ok_or(ParseRendezvousError::Host)?;
                match after.strip_prefix(':') {
                    Some(number) => (host, port(number)?),
                    None if after.is_empty() => (host, PORT),
                    None => return Err(ParseRendezvousError::Port(after.to_owned())),
                }
            }
            // More than one colon: an IPv6 address without a port.
            None if rest.matches(':').count() > 1 => (rest, PORT),
            None => match rest.split_once(':') {
                Some((host, number)) => (host, port(number)?),
                None => (rest, PORT),
            },
        };
        if host.is_empty() {
            return Err(ParseRendezvousError::Host);
        }
        parse_host(host).map_err(ParseRendezvousError::Address)?;
        Ok(RendezvousAddress { host: host.to_owned(), port, tls_port, key })
    }
}

impl fmt::Display for RendezvousAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RendezvousAddress { host, port, tls_port, key } = self;
        match host.contains(':') {
            true => write!(f, "[{host}]:{port}")?,
            false => write!(f, "{host}:{port}")?,
        }
        if *tls_port != TLS_PORT {
            write!(f, "/{tls_port}")?;
        }
        match key {
            Some(key) => write!(f, "#{key}"),
            None => Ok(()),
        }
    }
}

impl RendezvousAddress {
    /// The addresses for UDP that a socket of this family reaches, those that answer first.
    ///
    /// # Errors
    /// The name cannot be resolved, or has no such address.
    pub(super) fn resolve(&self, ipv6: bool) -> io::Result<Vec<SocketAddr>> {
        let none = || {
            let text = format!("{}: the name has no address that this host can use", self.host);
            io::Error::new(io::ErrorKind::NotFound, text)
        };
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.host));
        let addresses: Vec<_> =
            (self.host.as_str(), self.port).to_socket_addrs().map_err(named)?.collect();
        let mut addresses: Vec<_> =
            addresses.into_iter().filter(|address| address.is_ipv4() || ipv6).collect();
        if addresses.iter().any(lacks_zone) {
            let text = "a link-local address needs its zone, such as fe80::1%eth0";
            let text = format!("{}: {text}", self.host);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        // NATs are a matter of IPv4 mostly, so the address of that family is the useful one.
        addresses.sort_by_key(SocketAddr::is_ipv6);
        if addresses.is_empty() { Err(none()) } else { Ok(answering_first(addresses)) }
    }
}

/// Whether the address is one of a link that is not known (RFC 4007 section 6).
fn lacks_zone(address: &SocketAddr) -> bool {
    let SocketAddr::V6(address) = address else { return false };
    address.ip().is_unicast_link_local() && address.scope_id() == 0
}

/// The first address of each rendezvous, or an unspecified one for a name that cannot be resolved now.
///
/// # Errors
/// No name can be resolved.
pub(super) fn resolve_all(named: &[RendezvousAddress], ipv6: bool) -> io::Result<Vec<SocketAddr>> {
    let resolved: Vec<_> = named.iter().map(|one| one.resolve(ipv6)).collect();
    let any = resolved.iter().any(Result::is_ok);
    let unknown = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let first = |resolved: io::Result<Vec<SocketAddr>>| match resolved {
        Ok(addresses) => Ok(addresses.first().copied().unwrap_or(unknown)),
        Err(_) if any => Ok(unknown),
        Err(error) => Err(error),
    };
    resolved.into_iter().map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendezvous_is_a_host_with_two_ports_and_a_key() {
        let key = windlass_identity::SecretKey::from_seed([7; 32]).public_key();
        let cases = [
            ("r.example.org".to_owned(), ("r.example.org", 3478, 443, None)),
            ("192.0.2.1:7000".to_owned(), ("192.0.2.1", 7000, 443, None)),
            ("2001:db8::1".to_owned(), ("2001:db8::1", 3478, 443, None)),
            ("[2001:db8::1]:7/8443".to_owned(), ("2001:db8::1", 7, 8443, None)),
            (format!("r:1#{key}"), ("r", 1, 443, Some(key))),
        ];
        for (text, (host, port, tls_port, key)) in cases {
            let host = host.to_owned();
            let expected = RendezvousAddress { host, port, tls_port, key };
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            assert_eq!(expected.to_string().parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_link_local_rendezvous_has_a_zone() {
        let resolve = |text: &str| text.parse::<RendezvousAddress>().expect("one").resolve(true);
        let error = resolve("fe80::1").expect_err("no zone").to_string();
        assert_eq!(error, "fe80::1: a link-local address needs its zone, such as fe80::1%eth0");
        #[cfg(target_os = "linux")]
        for text in ["fe80::1%lo", "[fe80::1%lo]:3478/8443"] {
            let SocketAddr::V6(found) = resolve(text).expect("a zone")[0] else {
                panic!("{text}");
            };
            assert_ne!(found.scope_id(), 0, "{text}");
        }
    }

    #[test]
    fn a_wrong_part_is_named() {
        let parsed = |text: &str| text.parse::<RendezvousAddress>().map_err(|one| one.to_string());
        assert_eq!(parsed(":1"), Err(ParseRendezvousError::Host.to_string()));
        assert_eq!(parsed("h:x"), Err(ParseRendezvousError::Port("x".into()).to_string()));
        assert_eq!(parsed("h:0"), Err(ParseRendezvousError::Port("0".into()).to_string()));
        assert_eq!(parsed("h/70000"), Err(ParseRendezvousError::Port("70000".into()).to_string()));
        assert!(parsed("h#abc").is_err_and(|error| !error.is_empty()));
    }
}
