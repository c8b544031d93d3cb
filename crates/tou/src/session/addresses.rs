//! This host's addresses.

use crate::driver;
use getifaddrs::getifaddrs;
use std::net::{IpAddr, SocketAddr};

/// The addresses of this host's interfaces that another host could reach: no loopback, and no
/// link-local address, which needs an interface beside it.
pub(super) fn local_addresses() -> Vec<IpAddr> {
    let Ok(interfaces) = getifaddrs() else { return Vec::new() };
    // Neither an IPv4 nor an IPv6 address: that of the hardware.
    let addresses = interfaces.filter_map(|interface| interface.address.ip_addr());
    addresses.filter(is_reachable).collect()
}

/// The address from which the system sends to `remote`; `None` without a route.
pub(super) fn source_for(remote: IpAddr) -> Option<IpAddr> {
    // The port is any but 0.
    let source = driver::source_for(SocketAddr::new(remote, 9)).ok()?;
    Some(source.ip())
}

fn is_reachable(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}
