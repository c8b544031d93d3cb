//! The sockets of relayed addresses. The server asks for each with a `RelayRequest`, and knows no
//! sockets itself.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use mio::net::UdpSocket;
use slab::Slab;
use socket2::{Domain, Protocol, Socket, Type};
use windlass_base::Rng;

use crate::server::AllocationId;

/// Ports tried for one address. In a range with that many free ones, the first is nearly certain
/// to do.
const ATTEMPTS: u64 = 128;
/// Datagrams read from one socket before the others get their turn.
const TURN: usize = 64;

/// Where relayed addresses are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayOptions {
    /// The addresses that peers send to, one of each family at most. One that this host does not
    /// have belongs to a NAT before it, which must keep ports. Empty: of each family the first that
    /// the server listens at by name, else that of the default route.
    pub addresses: Vec<IpAddr>,
    /// The ports. Of several, the even ones are used.
    pub ports: RangeInclusive<u16>,
}

impl Default for RelayOptions {
    fn default() -> RelayOptions {
        // RFC 8656, section 7.2: the dynamic ports.
        RelayOptions { addresses: Vec::new(), ports: 49152..=65535 }
    }
}

pub(super) struct Relays {
    addresses: Vec<IpAddr>,
    ports: RangeInclusive<u16>,
    rng: Rng,
    sockets: Slab<(AllocationId, UdpSocket)>,
    by_allocation: BTreeMap<AllocationId, usize>,
    buffer: Vec<u8>,
}

impl Relays {
    /// `listen` is where the server listens.
    pub(super) fn new(options: RelayOptions, listen: &[SocketAddr], rng: Rng) -> Relays {
        let RelayOptions { mut addresses, ports } = options;
        if addresses.is_empty() {
            addresses = default_addresses(listen);
        }
        let buffer = vec![0; 1 << 16];
        let (sockets, by_allocation) = (Slab::new(), BTreeMap::new());
        Relays { addresses, ports, rng, sockets, by_allocation, buffer }
    }

    pub(super) fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// Opens the socket of an allocation. `register` gets it and its number. Returns the address
    /// that peers send to.
    pub(super) fn open(
        &mut self,
        allocation: AllocationId,
        is_ipv6: bool,
        register: impl FnOnce(&mut UdpSocket, usize) -> io::Result<()>,
    ) -> io::Result<SocketAddr> {
        let address = self.addresses.iter().find(|address| address.is_ipv6() == is_ipv6);
        let address = *address.ok_or(ErrorKind::AddrNotAvailable)?;
        let (mut socket, port) = self.bind_some_port(address)?;
        let entry = self.sockets.vacant_entry();
        register(&mut socket, entry.key())?;
        self.by_allocation.insert(allocation, entry.key());
        entry.insert((allocation, socket));
        Ok(SocketAddr::new(address, port))
    }

    /// A port at random, as peers must not be able to guess it, and an even one if there are any,
    /// which some clients ask for (RFC 8656, section 7.2).
    fn bind_some_port(&mut self, address: IpAddr) -> io::Result<(UdpSocket, u16)> {
        let (first, last) = (*self.ports.start(), *self.ports.end());
        // Even ports only, where the range has any.
        let first = if first < last { first.next_multiple_of(2) } else { first };
        let count = u64::from((last - first) / 2 + 1);
        let start = self.rng.below(count);
        for attempt in 0..ATTEMPTS.min(count) {
            let port = first + 2 * ((start + attempt) % count) as u16;
            match bind(SocketAddr::new(address, port)) {
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                bound => return Ok((bound?, port)),
            }
        }
        Err(ErrorKind::AddrInUse.into())
    }

    pub(super) fn close(&mut self, allocation: AllocationId) {
        if let Some(number) = self.by_allocation.remove(&allocation) {
            self.sockets.remove(number);
        }
    }

    /// Reads from a socket for a turn. True if there may be more.
    pub(super) fn receive(
        &mut self,
        number: usize,
        mut deliver: impl FnMut(AllocationId, SocketAddr, &[u8]),
    ) -> bool {
        let Some((allocation, socket)) = self.sockets.get(number) else { return false };
        for _ in 0..TURN {
            match socket.recv_from(&mut self.buffer) {
                Ok((len, from)) => deliver(*allocation, from, &self.buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                // An ICMP message about an earlier datagram, or an interrupted call.
                Err(_) => {}
            }
        }
        true
    }

    /// Sends a datagram to a peer. False if the system refused it.
    pub(super) fn send(&self, allocation: AllocationId, to: SocketAddr, bytes: &[u8]) -> bool {
        let number = self.by_allocation.get(&allocation);
        number.is_some_and(|number| self.sockets[*number].1.send_to(bytes, to).is_ok())
    }
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    match socket.bind(&address.into()) {
        // The address of a NAT before this host.
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
            socket.bind(&SocketAddr::new(unspecified(address.ip()), address.port()).into())?;
        }
        bound => bound?,
    }
    Ok(UdpSocket::from_std(socket.into()))
}

fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => [0; 4].into(),
        IpAddr::V6(_) => [0; 8].into(),
    }
}

/// The address of each family that hosts reach this server at, as far as it can tell.
fn default_addresses(listen: &[SocketAddr]) -> Vec<IpAddr> {
    // Connecting a UDP socket sends nothing. The targets are addresses for documentation (RFC 5737,
    // RFC 3849), which no more specific route leads to.
    let routes = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];
    let of_default_route = |(from, to): (&str, &str)| {
        let socket = std::net::UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let named = |is_ipv6: bool| {
        let mut ips = listen.iter().map(|address| address.ip().to_canonical());
        ips.find(|ip| ip.is_ipv6() == is_ipv6 && !ip.is_unspecified() && !ip.is_loopback())
    };
    routes
        .into_iter()
        .zip([named(false), named(true)])
        .filter_map(|(route, named)| named.or_else(|| of_default_route(route)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_EVENTS: fn(&mut UdpSocket, usize) -> io::Result<()> = |_, _| Ok(());

    fn options(first: u16, last: u16) -> RelayOptions {
        RelayOptions { addresses: vec![[127, 0, 0, 1].into()], ports: first..=last }
    }

    /// Ports that are free at present.
    fn free_ports() -> RangeInclusive<u16> {
        let first = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = first.local_addr().expect("bound").port();
        port..=port
    }

    #[test]
    fn an_address_that_the_server_listens_at_by_name_is_relayed_at() {
        let listen: Vec<SocketAddr> = ["127.0.0.1:1", "[::]:1", "192.0.2.7:1", "[2001:db8::7]:1"]
            .map(|address| address.parse().expect("an address"))
            .into();
        let relays = Relays::new(RelayOptions::default(), &listen, Rng::new(1));
        let expected: [IpAddr; 2] = [listen[2].ip(), listen[3].ip()];
        assert_eq!(relays.addresses(), expected);
    }

    #[test]
    fn a_full_range_of_ports_gives_no_address() {
        let ports = free_ports();
        let mut relays = Relays::new(options(*ports.start(), *ports.end()), &[], Rng::new(1));
        let address = relays.open(AllocationId(1), false, NO_EVENTS).expect("the only port");
        assert_eq!(address.port(), *ports.start());
        let full = relays.open(AllocationId(2), false, NO_EVENTS).expect_err("no port is left");
        assert_eq!(full.kind(), ErrorKind::AddrInUse);
        relays.close(AllocationId(1));
        assert!(relays.open(AllocationId(2), false, NO_EVENTS).is_ok());
    }

    #[test]
    fn a_family_without_an_address_has_no_relay() {
        let mut relays = Relays::new(options(49152, 65535), &[], Rng::new(1));
        let none = relays.open(AllocationId(1), true, NO_EVENTS).expect_err("only IPv4");
        assert_eq!(none.kind(), ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn an_address_of_a_nat_before_the_host_is_advertised_to_peers() {
        let outside: IpAddr = [203, 0, 113, 77].into();
        let options = RelayOptions { addresses: vec![outside], ..RelayOptions::default() };
        let mut relays = Relays::new(options, &[], Rng::new(1));
        let mut bound = None;
        let note = |socket: &mut UdpSocket, _| {
            bound = Some(socket.local_addr()?);
            Ok(())
        };
        let address = relays.open(AllocationId(1), false, note).expect("a socket");
        assert_eq!(address.ip(), outside);
        assert_eq!(bound.expect("registered").port(), address.port());
    }

    #[test]
    fn datagrams_pass_both_ways() {
        let mut relays = Relays::new(options(49152, 65535), &[], Rng::new(1));
        let address = relays.open(AllocationId(1), false, NO_EVENTS).expect("a socket");
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        peer.send_to(b"in", address).expect("sent");
        let mut arrived = Vec::new();
        while arrived.is_empty() {
            relays.receive(0, |_, from, bytes| arrived.push((from, bytes.to_vec())));
        }
        assert_eq!(arrived, [(peer.local_addr().expect("bound"), b"in".to_vec())]);
        assert!(relays.send(AllocationId(1), arrived[0].0, b"out"));
        let mut buffer = [0; 8];
        assert_eq!(peer.recv_from(&mut buffer).expect("a datagram"), (3, address));
    }
}
