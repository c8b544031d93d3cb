//! Where to listen, and to whom to connect.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use windlass_base::address::parse_host;

/// A peer, by its name or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort {
    pub(crate) host: String,
    pub(crate) port: u16,
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

/// `[ADDRESS%ZONE]:PORT` without its zone (RFC 4007 section 11), and whether it had one.
fn without_zone(text: &str) -> (String, bool) {
    let split = text.split_once('%').and_then(|(address, rest)| {
        let (_, port) = rest.split_once(']')?;
        Some(format!("{address}]{port}"))
    });
    let zone = split.is_some();
    (split.unwrap_or_else(|| text.to_owned()), zone)
}

/// A port from `least` on. Digits that are no port are named in the error; other text has none.
fn port_number(text: &str, least: u16) -> Result<u16, Option<String>> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| digits && *port >= least);
    port.ok_or_else(|| {
        digits.then(|| format!("port {text}: expected a port from {least} to 65535"))
    })
}

impl HostPort {
    /// Parses `host:port`.
    pub(crate) fn parse(text: &str) -> Result<HostPort, String> {
        let expected = || "expected HOST:PORT, such as host:7000 or [::1]:7000".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let bracketed = bare(host) != host;
        if bare(host).is_empty() || host.contains(':') && !bracketed {
            return Err(expected());
        }
        let port = port_number(port, 1).map_err(|why| why.unwrap_or_else(expected))?;
        HostPort::of(bare(host), port)
    }

    /// The same, where the port need not be said.
    pub(crate) fn parse_or(text: &str, port: u16) -> Result<HostPort, String> {
        let whole = bare(text);
        if whole.parse::<Ipv6Addr>().is_ok() || !text.is_empty() && !text.contains(':') {
            return HostPort::of(whole, port);
        }
        HostPort::parse(text)
    }

    fn of(host: &str, port: u16) -> Result<HostPort, String> {
        parse_host(host)?;
        Ok(HostPort { host: host.to_owned(), port })
    }
}

impl Local {
    /// `port`, or `address:port`.
    pub(crate) fn parse(text: &str) -> Result<Local, String> {
        match port_number(text, 0) {
            Ok(port) => return Ok(Local { address: None, port }),
            Err(Some(why)) => return Err(why),
            Err(None) => {}
        }
        let expected = |_| "expected PORT or ADDRESS:PORT, such as 7000 or [::1]:7000".to_owned();
        let (zoneless, zone) = without_zone(text);
        let address: SocketAddr = zoneless.parse().map_err(expected)?;
        let link_local = matches!(address.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local());
        if zone || link_local {
            let instead = "listen at all addresses of this host by the port alone";
            return Err(format!("{text}: a link-local address is one of a single link; {instead}"));
        }
        Ok(Local { address: Some(address.ip()), port: address.port() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

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
        assert_eq!(or("[fe80::1%eth0]:8"), Ok(("fe80::1%eth0".to_owned(), 8)));
        for text in ["0x7f.1:7", "2130706433:7", "010.0.0.1:7", "10.1:7"] {
            assert!(parsed(text).is_err(), "{text}");
        }
        assert!(or("010.0.0.1").is_err() && or("127.1").is_err());
    }

    #[test]
    fn one_listens_at_a_port_or_at_an_address_and_a_port() {
        let parsed = |text| Local::parse(text).map(|local| (local.address, local.port));
        assert_eq!(parsed("0"), Ok((None, 0)));
        assert_eq!(parsed("127.0.0.1:7"), Ok((Some(Ipv4Addr::LOCALHOST.into()), 7)));
        assert_eq!(parsed("[::1]:7"), Ok((Some(Ipv6Addr::LOCALHOST.into()), 7)));
        for text in ["", "host:7", "70000", "::1", "[%eth0]:7", "[::1%]"] {
            assert!(parsed(text).is_err(), "{text}");
        }
        for text in ["[fe80::1]:7", "[fe80::1%eth0]:7", "[fe80::1%3]:7"] {
            assert!(parsed(text).is_err_and(|why| why.contains("by the port alone")), "{text}");
        }
    }
}
