//! The behaviours of a NAT, named as in RFC 4787.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use windlass_base::Span;

/// Part of the remote endpoint on which a NAT's mapping or filtering depends (RFC 4787 sections 4.1
/// and 5).
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// Nothing: endpoint-independent.
    Independent,
    /// The remote address: address-dependent.
    Address,
    /// The remote address and port: address and port-dependent.
    AddressAndPort,
}

impl Dependence {
    /// All of them, from the most open one to the strictest.
    pub const ALL: [Dependence; 3] =
        [Dependence::Independent, Dependence::Address, Dependence::AddressAndPort];
}

/// How a NAT chooses the external port of a new binding (RFC 4787 section 4.2.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum PortAllocation {
    /// The inner port if it is free, otherwise a random one.
    Preserve,
    /// A random one.
    Random,
    /// The one after the last.
    Sequential,
}

/// How a NAT chooses among several external addresses (RFC 4787 section 4.1, "IP address pooling").
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// All bindings of an inner address have the same external address.
    Paired,
    /// A random one for each binding.
    Arbitrary,
}

/// The settings of a [`Nat`](crate::Nat).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The external addresses, IPv4 and IPv6. Packets of a family without one keep their addresses
    /// and ports: for that family the NAT is a stateful firewall.
    pub external: Vec<IpAddr>,
    /// Which outgoing packets of an inner endpoint share a binding.
    pub mapping: Dependence,
    /// Which remote endpoints may send to a binding.
    pub filtering: Dependence,
    /// How external ports are chosen.
    pub ports: PortAllocation,
    /// The external ports to choose from. [`PortAllocation::Preserve`] may also keep an inner port
    /// outside of it.
    pub port_range: RangeInclusive<u16>,
    /// How external addresses are chosen.
    pub pooling: Pooling,
    /// Whether inner hosts reach each other at the external addresses (RFC 4787 section 6).
    pub hairpin: bool,
    /// How long a UDP binding lives after its last refresh (RFC 4787 section 4.3).
    pub lifetime: Span,
    /// Whether incoming UDP packets refresh a binding. Outgoing ones always do.
    pub refresh_inbound: bool,
    /// The bindings that fit into the table. Further ones are refused.
    pub bindings_max: usize,
    /// Whether the NAT drops all UDP.
    pub block_udp: bool,
    /// The remote TCP ports that inner hosts reach; `None`: all.
    pub tcp_ports: Option<Vec<u16>>,
}

impl Config {
    /// A NAT with these external addresses and the behaviour that RFC 4787 recommends for
    /// transparency: endpoint-independent mapping and filtering, ports preserved, hairpinning, a
    /// lifetime of 5 minutes.
    pub fn new(external: Vec<IpAddr>) -> Config {
        Config {
            external,
            mapping: Dependence::Independent,
            filtering: Dependence::Independent,
            ports: PortAllocation::Preserve,
            port_range: 1024..=65_535,
            pooling: Pooling::Paired,
            hairpin: true,
            lifetime: Span::from_secs(300),
            refresh_inbound: false,
            bindings_max: 10_000,
            block_udp: false,
            tcp_ports: None,
        }
    }

    /// The same with another mapping and filtering.
    #[must_use]
    pub fn behaving(self, mapping: Dependence, filtering: Dependence) -> Config {
        Config { mapping, filtering, ..self }
    }
}
