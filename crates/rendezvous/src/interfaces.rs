//! This host's addresses.

use std::net::IpAddr;

/// The addresses of this host's interfaces, loopback and link-local ones included. Empty where the
/// system does not say.
pub fn own_addresses() -> Vec<IpAddr> {
    let Ok(interfaces) = getifaddrs::getifaddrs() else { return Vec::new() };
    // Neither an IPv4 nor an IPv6 address: that of the hardware.
    interfaces.filter_map(|interface| interface.address.ip_addr()).collect()
}
