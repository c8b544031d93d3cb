//! Where to listen, and to whom to connect.

use crate::args::Family;
use crate::failure::Failure;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;
use windlass_base::Span;
use windlass_tou::{Options, TouListener, TouStream};

/// A peer, by its name or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    host: String,
    port: u16,
}

/// Where to listen.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) address: Option<IpAddr>,
    pub(crate) port: u16,
}

/// An IPv6 address has brackets around it where a port follows.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

impl HostPort {
    /// `host:port`.
    pub(crate) fn parse(text: &str) -> Result<HostPort, String> {
        let expected = || "expected HOST:PORT, such as host:7000 or [::1]:7000".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(expected)?;
        let bracketed = bare(host) != host;
        if bare(host).is_empty() || host.contains(':') && !bracketed {
            return Err(expected());
        }
        Ok(HostPort { host: bare(host).to_owned(), port })
    }

    /// The same, where the port need not be said.
    pub(crate) fn parse_or(text: &str, port: u16) -> Result<HostPort, String> {
        let whole = bare(text);
        if whole.parse::<Ipv6Addr>().is_ok() || !text.is_empty() && !text.contains(':') {
            return Ok(HostPort { host: whole.to_owned(), port });
        }
        HostPort::parse(text)
    }

    /// Its addresses.
    pub(super) fn resolve(&self, family: Family) -> Result<Vec<SocketAddr>, Failure> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found = found.map_err(|error| Failure::io(&self.host, &error))?;
        let wanted = |address: &SocketAddr| {
            !(family.v4 && address.is_ipv6() || family.v6 && address.is_ipv4())
        };
        let addresses: Vec<SocketAddr> = found.filter(wanted).collect();
        if addresses.is_empty() {
            let kind = if family.v4 { "IPv4" } else { "IPv6" };
            return Err(Failure::Work(format!("{}: no {kind} address", self.host)));
        }
        Ok(addresses)
    }
}

impl Local {
    /// `port`, or `address:port`.
    pub(crate) fn parse(text: &str) -> Result<Local, String> {
        if let Ok(port) = text.parse() {
            return Ok(Local { address: None, port });
        }
        let address: Result<SocketAddr, _> = text.parse();
        address
            .map(|address| Local { address: Some(address.ip()), port: address.port() })
            .map_err(|_| "expected PORT or ADDRESS:PORT, such as 7000 or [::1]:7000".to_owned())
    }

    /// Listens there: at one address, or at all of the family's.
    pub(super) fn listen(self, family: Family, options: &Options) -> Result<TouListener, Failure> {
        let at = |address: IpAddr| {
            let address = SocketAddr::new(address, self.port);
            TouListener::bind_with(address, options)
                .map_err(|error| (error.kind(), Failure::io(address, &error)))
        };
        let listener = match (self.address, family) {
            (Some(address), _) if family.v4 && address.is_ipv6() => {
                return Err(Failure::Input(format!("-4: {address} is an IPv6 address")));
            }
            (Some(address), _) if family.v6 && address.is_ipv4() => {
                return Err(Failure::Input(format!("-6: {address} is an IPv4 address")));
            }
            (Some(address), _) => at(address),
            (None, Family { v4: true, .. }) => at(Ipv4Addr::UNSPECIFIED.into()),
            // IPv6 sockets take IPv4 as well, but there may be no IPv6.
            (None, _) => at(Ipv6Addr::UNSPECIFIED.into()).or_else(|(kind, failure)| {
                if family.v6 || kind == ErrorKind::AddrInUse {
                    return Err((kind, failure));
                }
                at(Ipv4Addr::UNSPECIFIED.into())
            }),
        };
        listener.map_err(|(_, failure)| failure)
    }
}

/// Connects to the first of the addresses that answers.
pub(super) fn connect(
    addresses: &[SocketAddr],
    timeout: Option<Span>,
    options: &Options,
) -> Result<TouStream, Failure> {
    let timeout = timeout.map(|timeout| Duration::from_nanos(timeout.as_nanos()));
    let to = |address: &SocketAddr| -> io::Result<TouStream> {
        match timeout {
            Some(timeout) => TouStream::connect_timeout(address, timeout, options),
            None => TouStream::connect_with(address, options),
        }
    };
    let mut last = Failure::Work("no address".to_owned());
    for address in addresses {
        match to(address) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Failure::io(address, &error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_with_a_port_has_brackets() {
        let parsed = |text| HostPort::parse(text).map(|peer| (peer.host, peer.port));
        assert_eq!(parsed("host:7000"), Ok(("host".to_owned(), 7000)));
        assert_eq!(parsed("[2001:db8::1]:7"), Ok(("2001:db8::1".to_owned(), 7)));
        for text in ["host", "host:", ":7000", "[]:7", "::1:7000", "host:0", "host:70000"] {
            assert!(parsed(text).is_err(), "{text}");
        }
        let or = |text| HostPort::parse_or(text, 7000).map(|peer| (peer.host, peer.port));
        assert_eq!(or("host"), Ok(("host".to_owned(), 7000)));
        assert_eq!(or("::1"), Ok(("::1".to_owned(), 7000)));
        assert_eq!(or("[::1]"), Ok(("::1".to_owned(), 7000)));
        assert_eq!(or("[::1]:8"), Ok(("::1".to_owned(), 8)));
        assert!(or("").is_err() && or("host:x").is_err());
    }

    #[test]
    fn one_listens_at_a_port_or_at_an_address_and_a_port() {
        let parsed = |text| Local::parse(text).map(|local| (local.address, local.port));
        assert_eq!(parsed("0"), Ok((None, 0)));
        assert_eq!(parsed("127.0.0.1:7"), Ok((Some(Ipv4Addr::LOCALHOST.into()), 7)));
        assert_eq!(parsed("[::1]:7"), Ok((Some(Ipv6Addr::LOCALHOST.into()), 7)));
        for text in ["", "host:7", "70000", "::1"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
