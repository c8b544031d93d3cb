//! The arguments of `windlass tou rendezvous`.

use crate::value::{Local, parse_rate, whole};
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use windlass_base::BitRate;
use windlass_base::address;
use windlass_base::special::Prefix;

pub(crate) const RENDEZVOUS_HELP: &str = "\
Examples:
  windlass tou rendezvous                         # UDP and TCP port 3478
  windlass tou rendezvous --tls 443               # also for hosts whose UDP is blocked
  windlass tou rendezvous --listen 203.0.113.1:3478 --alternate 203.0.113.2   # for tou nat
  windlass tou rendezvous --relay-address 203.0.113.1 --relay-rate 20M --metrics 127.0.0.1:9478

Hosts register their keys here, and ask to be introduced to other hosts. Hosts that cannot reach each other \
directly send through the relay (TURN), which sees encrypted data only. Any STUN or TURN client may use the \
server; credentials for the relay come with a registration. Hosts know the server by its key if they are \
given --via HOST#KEY.

docs/guide/tou-nat.md shows the whole, docs/reference/tou-rendezvous.md every message and metric.

Exit status: 0 after Ctrl-C or SIGTERM; 1 an address cannot be had, or a file of a key or certificate cannot \
be used; 2 bad arguments.";

#[derive(Debug, Args)]
pub(crate) struct TouRendezvous {
    /// Where to serve UDP and TCP; several times for several addresses
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "3478", value_parser = Local::parse)]
    pub listen: Vec<Local>,
    /// A second address of this host, for the discovery of NATs (RFC 5780); the next port is used too
    #[arg(long, value_name = "ADDRESS")]
    pub alternate: Option<IpAddr>,
    /// Serve UDP only where --listen says
    #[arg(long)]
    pub no_tcp: bool,
    /// Where to serve TLS over TCP; hosts expect port 443
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = Local::parse)]
    pub tls: Vec<Local>,
    /// The server's certificate chain (PEM), for TURN clients that know no raw public keys
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls"])]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The file of the server's secret key, made by windlass tou key [default: ~/.config/windlass/tou/rendezvous-key, made on first use]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Serve metrics for Prometheus here, at /metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Print a JSON object instead of text when it is ready
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub relay: Relay,
    #[command(flatten)]
    pub limits: LimitArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The relay")]
pub(crate) struct Relay {
    /// The address that peers send to [default: of each family the first that --listen names, else that of the default route]; twice for both families
    #[arg(long, value_name = "ADDRESS")]
    pub relay_address: Vec<IpAddr>,
    /// Its ports
    #[arg(long, value_name = "FIRST-LAST", default_value = "49152-65535", value_parser = parse_ports)]
    pub relay_ports: RangeInclusive<u16>,
    /// Relay to private addresses too (RFC 1918, RFC 4193, RFC 6598)
    #[arg(long)]
    pub relay_private: bool,
    /// Relay to this network of special addresses, or to this address of the server itself, too; several times
    #[arg(long, value_name = "NETWORK", value_parser = parse_network)]
    pub relay_peer: Vec<Prefix>,
    /// Have no relay
    #[arg(long, conflicts_with_all = ["relay_address", "relay_private", "relay_peer"])]
    pub no_relay: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Registered keys
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole::<u32>(1..=10_000_000))]
    pub registrations: u32,
    /// Registered keys of one network (IPv4 address or IPv6 /64)
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<u32>(1..=10_000_000))]
    pub registrations_per_network: u32,
    /// Signed requests of one network per second
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole::<u32>(1..=1_000_000))]
    pub requests_per_second: u32,
    /// Introductions under way
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole::<u32>(1..=10_000_000))]
    pub introductions: u32,
    /// Relayed addresses
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<u32>(1..=65_535))]
    pub allocations: u32,
    /// Relayed addresses of one network
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=65_535))]
    pub allocations_per_network: u32,
    /// Relayed addresses of one key
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u32>(1..=65_535))]
    pub allocations_per_key: u32,
    /// Rate limit of one relayed address, both ways together; more is dropped [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = parse_relay_rate)]
    pub relay_rate: Option<BitRate>,
    /// Streams, TCP and TLS
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = whole::<u32>(1..=1_000_000))]
    pub streams: u32,
    /// Streams of one network
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = whole::<u32>(1..=1_000_000))]
    pub streams_per_network: u32,
}

/// Two ports in the form `FIRST-LAST`.
fn parse_ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let port = |text: &str| text.parse().ok().filter(|port: &u16| *port > 0);
    let both = text.split_once('-').and_then(|(first, last)| Some((port(first)?, port(last)?)));
    let ordered = both.filter(|(first, last)| first <= last);
    let (first, last) = ordered.ok_or_else(|| {
        "expected ports FIRST-LAST from 1 to 65535, such as 50000-50999".to_owned()
    })?;
    Ok(first..=last)
}

/// A network or an address.
fn parse_network(text: &str) -> Result<Prefix, String> {
    let expected = "expected a network such as 198.18.0.0/15, or an address";
    let network = address::parse_network(text)?;
    Prefix::new(network.addr(), network.prefix_len()).ok_or_else(|| expected.to_owned())
}

/// A rate that the server can count in bytes a second.
fn parse_relay_rate(text: &str) -> Result<BitRate, String> {
    let rate = parse_rate(text)?;
    if (8_000..=32_000_000_000).contains(&rate.bits_per_sec()) {
        return Ok(rate);
    }
    Err("expected a rate from 8kbit/s to 32Gbit/s".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_ports_has_both_ends() {
        assert_eq!(parse_ports("50000-50999"), Ok(50_000..=50_999));
        assert_eq!(parse_ports("7-7"), Ok(7..=7));
        for text in ["", "7", "7-", "-7", "9-8", "0-9", "1-70000", "a-b"] {
            assert!(parse_ports(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_peer_of_the_relay_is_a_network_or_an_address() {
        let net = |address: &str, len| Prefix::new(address.parse().expect("an address"), len);
        assert_eq!(parse_network("198.18.0.0/15").ok(), net("198.18.0.0", 15));
        assert_eq!(parse_network("2001:db8::7").ok(), net("2001:db8::7", 128));
        for text in ["", "198.18", "198.18.0.0/33", "010.0.0.1", "host", "10.0.0.1-9"] {
            assert!(parse_network(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_relays_rate_is_one_that_can_be_counted() {
        assert_eq!(parse_relay_rate("20M").map(BitRate::bits_per_sec), Ok(20_000_000));
        for text in ["7kbit/s", "33Gbit/s", "0", "fast"] {
            assert!(parse_relay_rate(text).is_err(), "{text}");
        }
    }
}
