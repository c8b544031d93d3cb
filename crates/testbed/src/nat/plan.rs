//! The addresses of a crossing.

use super::Family;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The prefix length of a network of hosts.
pub(super) fn prefix(family: Family) -> u8 {
    match family {
        Family::V4 => 24,
        Family::V6 => 64,
    }
}

/// The longest prefix: one address.
pub(super) fn host_prefix(family: Family) -> u8 {
    match family {
        Family::V4 => 32,
        Family::V6 => 128,
    }
}

/// The network of the rendezvous.
pub(super) fn rendezvous(family: Family, host: u8) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(203, 0, 113, host).into(),
        Family::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0xf, 0, 0, 0, 0, host.into()).into(),
    }
}

/// The public network of a site: the Internet's router is 1, the gateway (or the public host) 2, and
/// the external addresses of a user-space NAT are 3 and 4. A restarted gateway takes 5.
pub(super) fn site(family: Family, site: usize, host: u8) -> IpAddr {
    match (family, site) {
        (Family::V4, 0) => Ipv4Addr::new(198, 51, 100, host).into(),
        (Family::V4, _) => Ipv4Addr::new(192, 0, 2, host).into(),
        (Family::V6, site) => {
            Ipv6Addr::new(0x2001, 0xdb8, 0xa, site as u16, 0, 0, 0, host.into()).into()
        }
    }
}

/// The network between a home's gateway and its carrier's NAT (RFC 6598).
pub(super) fn carrier(family: Family, site: usize, host: u8) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(100, 64, site as u8, host).into(),
        Family::V6 => Ipv6Addr::new(0xfd00, 0xcc, 0, site as u16, 0, 0, 0, host.into()).into(),
    }
}

/// The private network of a host: the gateway is 1, the host is 2 or 3. Hosts behind gateways of
/// their own have the same network, as homes do; `lan` tells networks behind one gateway apart.
pub(super) fn private(family: Family, lan: u8, host: u8) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(192, 168, 1 + lan, host).into(),
        Family::V6 => Ipv6Addr::new(0xfd00, 0, 0, lan.into(), 0, 0, 0, host.into()).into(),
    }
}

/// A network behind a firewall: its addresses are public.
pub(super) fn routed(family: Family, site: usize, host: u8) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(198, 18, site as u8, host).into(),
        Family::V6 => Ipv6Addr::new(0x2001, 0xdb8, 0xb, site as u16, 0, 0, 0, host.into()).into(),
    }
}
