//! The rendezvous of the world: the server that ships, with the sockets of its relay.

use super::network::{Packet, rendezvous_address};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use windlass_base::{Ecn, Rng, Time};
use windlass_rendezvous::server::{
    AllocationId, Config, PeerPolicy, RelayRequest, Server, Transmit,
};

/// How a message reaches the server.
pub(super) use windlass_rendezvous::server::Path;

/// The ports of relays begin here.
const RELAY_PORTS: u16 = 49_152;

pub(super) struct Rendezvous {
    server: Server,
    ipv6: bool,
    next_port: u16,
    relays: BTreeMap<SocketAddr, AllocationId>,
    addresses: BTreeMap<AllocationId, SocketAddr>,
}

/// A message from the server, with its carrier.
pub(super) enum Sent {
    Datagram(Packet),
    /// A message of a stream, by the stream's number.
    Message(u64, Vec<u8>),
}

impl Rendezvous {
    /// A server that knows nothing. `serial` counts its restarts.
    pub(super) fn new(ipv6: bool, seed: u64, serial: u64) -> Rendezvous {
        let mut rng = Rng::fork(seed, 1000 + serial);
        // One kind of server keeps its secret over restarts, so that credentials and nonces stay valid.
        let secret = if seed.is_multiple_of(2) { seed } else { rng.bits() };
        let mut config = Config::new(u128::from(secret).to_be_bytes());
        config.relay = Some(PeerPolicy::Public);
        Rendezvous {
            server: Server::new(config, rng),
            ipv6,
            // A restarted server may give its relays other ports.
            next_port: RELAY_PORTS + (serial as u16) * 64,
            relays: BTreeMap::new(),
            addresses: BTreeMap::new(),
        }
    }

    /// Handles a datagram that arrived at one of the server's addresses.
    pub(super) fn handle(&mut self, now: Time, packet: &Packet) {
        if packet.to == rendezvous_address(self.ipv6) {
            let path = Path::Udp { socket: 0, address: packet.from };
            self.server.handle(now, path, &packet.bytes);
        } else if let Some(allocation) = self.relays.get(&packet.to) {
            self.server.handle_relayed(now, *allocation, packet.from, &packet.bytes);
        }
        self.serve_relays(now);
    }

    /// Handles a message of the stream `id` of the host at `address`.
    pub(super) fn handle_message(&mut self, now: Time, id: u64, address: SocketAddr, bytes: &[u8]) {
        self.server.handle(now, Path::Stream { id, address }, bytes);
        self.serve_relays(now);
    }

    pub(super) fn stream_closed(&mut self, now: Time, id: u64) {
        self.server.stream_closed(now, id);
        self.serve_relays(now);
    }

    pub(super) fn poll_timeout(&self) -> Time {
        self.server.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.server.handle_timeout(now);
        self.serve_relays(now);
    }

    /// Opens and closes the sockets of relays.
    fn serve_relays(&mut self, now: Time) {
        while let Some(request) = self.server.poll_relay() {
            match request {
                RelayRequest::Open { allocation, is_ipv6 } => {
                    let address = (is_ipv6 == self.ipv6).then(|| self.next_relay());
                    if let Some(address) = address {
                        self.relays.insert(address, allocation);
                        self.addresses.insert(allocation, address);
                    }
                    self.server.relay_opened(now, allocation, address);
                }
                RelayRequest::Close { allocation } => {
                    if let Some(address) = self.addresses.remove(&allocation) {
                        self.relays.remove(&address);
                    }
                }
            }
        }
    }

    fn next_relay(&mut self) -> SocketAddr {
        let port = self.next_port;
        self.next_port = port.checked_add(1).unwrap_or(RELAY_PORTS);
        SocketAddr::new(rendezvous_address(self.ipv6).ip(), port)
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Sent> {
        loop {
            let (from, to, bytes) = match self.server.poll_transmit()? {
                Transmit::Host { path: Path::Stream { id, .. }, bytes } => {
                    return Some(Sent::Message(id, bytes));
                }
                Transmit::Host { path: Path::Udp { address, .. }, bytes } => {
                    (rendezvous_address(self.ipv6), address, bytes)
                }
                Transmit::Peer { allocation, to, bytes } => {
                    // Its socket may be closed already.
                    let Some(from) = self.addresses.get(&allocation) else { continue };
                    (*from, to, bytes)
                }
            };
            return Some(Sent::Datagram(Packet { from, to, ecn: Ecn::NotEct, bytes }));
        }
    }
}
