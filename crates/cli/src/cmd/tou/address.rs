//! Listening at an address, and connecting to one.

use super::connection_args::Family;
use crate::failure::Failure;
use crate::value::{HostPort, Local};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;
use windlass_base::Span;
use windlass_tou::{Options, TouListener, TouStream};

impl HostPort {
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
    /// Listens at the address, or at every address of the family.
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
    let connected = TouStream::connect_any(addresses, timeout, options);
    connected.map_err(|error| match addresses {
        [address] => Failure::io(address, &error),
        // The error names them.
        _ => Failure::Work(error.to_string()),
    })
}
