//! The addresses of the two ends as sockets take them.

use crate::subject::Setup;
use nix::sys::socket::{AddressFamily, SockaddrStorage};
use std::net::{IpAddr, SocketAddr};

/// The family of the script's sockets.
pub(super) fn family(setup: &Setup) -> AddressFamily {
    if setup.local.is_ipv4() && !setup.mapped { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The subject's address and port.
pub(super) fn local(setup: &Setup) -> SockaddrStorage {
    of(setup, setup.local, setup.local_port)
}

/// The other end's address and port.
pub(super) fn remote(setup: &Setup) -> SockaddrStorage {
    of(setup, setup.remote, setup.remote_port)
}

fn of(setup: &Setup, address: IpAddr, port: u16) -> SockaddrStorage {
    let address = match address {
        IpAddr::V4(address) if setup.mapped => address.to_ipv6_mapped().into(),
        address => address,
    };
    SockaddrStorage::from(SocketAddr::new(address, port))
}
