//! The kinds of gateway between a host and the Internet, and what the theory says about them.

use windlass_nat::Dependence;
use windlass_nat::theory::{Access, Outcome, outcome, outcome_behind_one};

/// A version of IP. A crossing has addresses of one version only.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// All addresses are IPv4's.
    V4,
    /// All addresses are IPv6's.
    V6,
}

/// The router between a host and the Internet.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gateway {
    /// Nothing: the host has a public address.
    Public,
    /// The user-space NAT, with this mapping and filtering. Over IPv6 it is a NAT66.
    Nat(Dependence, Dependence),
    /// nftables with `masquerade`, which preserves ports.
    Masquerade,
    /// The same without a filter: what comes from outside reaches the router itself.
    MasqueradeUnfiltered,
    /// nftables with `masquerade random`.
    MasqueradeRandom,
    /// nftables with `masquerade fully-random`.
    MasqueradeFullyRandom,
    /// nftables with `masquerade` behind the carrier's user-space NAT, which has two external
    /// addresses, random ports, and endpoint-independent mapping and filtering.
    CarrierGrade,
    /// nftables as a stateful firewall without translation.
    Firewall,
    /// nftables with `masquerade` that drops all but TCP to port 443.
    UdpBlocked,
    /// nftables that drops everything.
    Sealed,
}

use Dependence::{Address, AddressAndPort, Independent};

impl Gateway {
    /// The gateways of the matrix over one version of IP.
    pub fn all(family: Family) -> Vec<Gateway> {
        match family {
            Family::V4 => vec![
                Gateway::Public,
                Gateway::Nat(Independent, Independent),
                Gateway::Nat(Independent, Address),
                Gateway::Nat(Independent, AddressAndPort),
                Gateway::Masquerade,
                Gateway::Nat(Address, Address),
                Gateway::Nat(AddressAndPort, AddressAndPort),
                Gateway::MasqueradeRandom,
                Gateway::MasqueradeFullyRandom,
                Gateway::CarrierGrade,
                Gateway::UdpBlocked,
                Gateway::Sealed,
            ],
            Family::V6 => vec![
                Gateway::Public,
                Gateway::Firewall,
                Gateway::Nat(AddressAndPort, AddressAndPort),
                Gateway::UdpBlocked,
            ],
        }
    }

    /// The behaviour of the gateway towards its hosts' packets, for [`outcome`].
    pub fn access(self) -> Access {
        let udp = |mapping, filtering| Access::Udp { mapping, filtering };
        match self {
            Gateway::Public => udp(Independent, Independent),
            Gateway::Nat(mapping, filtering) => udp(mapping, filtering),
            // The kernel preserves the port of a socket towards all destinations, and admits the
            // answers to each connection that it tracks.
            Gateway::Masquerade
            | Gateway::MasqueradeUnfiltered
            | Gateway::CarrierGrade
            | Gateway::Firewall => udp(Independent, AddressAndPort),
            Gateway::MasqueradeRandom | Gateway::MasqueradeFullyRandom => {
                udp(AddressAndPort, AddressAndPort)
            }
            Gateway::UdpBlocked => Access::Tcp443,
            Gateway::Sealed => Access::Nothing,
        }
    }

    /// A short name for tables.
    pub fn name(self) -> String {
        let short = |dependence| match dependence {
            Independent => "EI",
            Address => "AD",
            AddressAndPort => "APD",
        };
        match self {
            Gateway::Public => "public".to_owned(),
            Gateway::Nat(mapping, filtering) => {
                format!("{}M/{}F", short(mapping), short(filtering))
            }
            Gateway::Masquerade => "masquerade".to_owned(),
            Gateway::MasqueradeUnfiltered => "masquerade without filter".to_owned(),
            Gateway::MasqueradeRandom => "masquerade random".to_owned(),
            Gateway::MasqueradeFullyRandom => "masquerade fully-random".to_owned(),
            Gateway::CarrierGrade => "carrier-grade".to_owned(),
            Gateway::Firewall => "firewall".to_owned(),
            Gateway::UdpBlocked => "UDP blocked".to_owned(),
            Gateway::Sealed => "sealed".to_owned(),
        }
    }
}

/// The best path that theory predicts for two hosts behind gateways of their own.
pub fn predicted(a: Gateway, b: Gateway) -> Outcome {
    outcome(a.access(), b.access())
}

/// The best path that theory predicts for two hosts behind one gateway.
pub fn predicted_behind_one(gateway: Gateway, hairpin: bool) -> Outcome {
    outcome_behind_one(gateway.access(), hairpin)
}
