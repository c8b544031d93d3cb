//! The UDP sockets that hosts send to, read in batches. Answers leave from the address that was asked.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};

use crate::server::Path;

/// The room for datagrams that wait to be read, so that a flood of a moment costs none. Beyond
/// net.core.rmem_max it takes CAP_NET_ADMIN.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// The longest datagram, or run of datagrams that the system joins (GRO).
const DATAGRAM_MAX: usize = 1 << 16;
/// Numbers of endpoints. The first four are those of RFC 5780.
const ENDPOINTS_MAX: usize = 256;

/// Where a datagram arrived, and where answers to it come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Endpoint {
    socket: usize,
    /// The address of this host, where the socket has all of them.
    local: Option<IpAddr>,
}

struct Bound {
    socket: UdpSocket,
    state: UdpSocketState,
    address: SocketAddr,
}

/// All sockets. A host with several addresses answers from the one that was asked.
pub(super) struct Sockets {
    bound: Vec<Bound>,
    /// [`Path::Udp`] has the number of an entry.
    endpoints: Vec<Endpoint>,
    buffers: Vec<u8>,
    /// Datagrams that the system refused to send.
    pub(super) unsent: u64,
}

impl Sockets {
    /// Binds each address. The first four are those of RFC 5780 if there are any such.
    ///
    /// # Errors
    ///
    /// The address that cannot be bound, and the system's error.
    pub(super) fn bind(addresses: &[SocketAddr]) -> Result<Sockets, (SocketAddr, io::Error)> {
        let bind = |address: &SocketAddr| bind(*address).map_err(|error| (*address, error));
        let bound: Vec<Bound> = addresses.iter().map(bind).collect::<Result<_, _>>()?;
        let endpoints = (0..bound.len()).map(|socket| Endpoint { socket, local: None }).collect();
        let buffers = vec![0; BATCH_SIZE * DATAGRAM_MAX];
        Ok(Sockets { bound, endpoints, buffers, unsent: 0 })
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.bound.iter().map(|bound| bound.address).collect()
    }

    /// The sockets, in order, to be registered for events.
    pub(super) fn sources(&mut self) -> impl Iterator<Item = &mut UdpSocket> {
        self.bound.iter_mut().map(|bound| &mut bound.socket)
    }

    /// Reads what one call returns. False if there was nothing.
    pub(super) fn receive(&mut self, socket: usize, mut deliver: impl FnMut(Path, &[u8])) -> bool {
        let Some(bound) = self.bound.get(socket) else { return false };
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices = slices(&mut self.buffers);
        // In try_io, because on Windows mio waits for a socket again only after it has seen WouldBlock.
        let socket_ref = UdpSockRef::from(&bound.socket);
        let receive = || bound.state.recv(socket_ref, &mut slices, &mut metas);
        let count = match bound.socket.try_io(receive) {
            Ok(count) => count,
            // An ICMP message about an earlier datagram, or an interrupted call: there may be more.
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        };
        let is_wildcard = bound.address.ip().is_unspecified();
        for (slice, meta) in slices.iter().zip(&metas[..count]) {
            // A host expects the answer from the address that it has asked.
            let local = meta.dst_ip.filter(|_| is_wildcard);
            let number = number(&mut self.endpoints, Endpoint { socket, local });
            let address = canonical(meta.addr);
            let path = Path::Udp { socket: number, address };
            for datagram in slice[..meta.len].chunks(meta.stride.max(1)) {
                deliver(path, datagram);
            }
        }
        true
    }

    /// Sends a datagram. One that the system refuses is counted and lost, as UDP may lose it.
    pub(super) fn send(&mut self, number: u8, to: SocketAddr, bytes: &[u8]) {
        let Some(endpoint) = self.endpoints.get(usize::from(number)) else { return };
        let bound = &self.bound[endpoint.socket];
        let destination = if bound.address.is_ipv6() { mapped(to) } else { to };
        let transmit = Transmit {
            destination,
            ecn: None,
            contents: bytes,
            segment_size: None,
            src_ip: endpoint.local,
        };
        let sent = bound.state.try_send(UdpSockRef::from(&bound.socket), &transmit);
        self.unsent += u64::from(sent.is_err());
    }
}

fn slices(buffers: &mut [u8]) -> [IoSliceMut<'_>; BATCH_SIZE] {
    let mut chunks = buffers.chunks_mut(DATAGRAM_MAX);
    std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()))
}

/// The number of an endpoint. Without room for it, that of its socket, so that the system chooses
/// the address.
fn number(endpoints: &mut Vec<Endpoint>, endpoint: Endpoint) -> u8 {
    let known = endpoints.iter().position(|known| *known == endpoint);
    let number = known.unwrap_or_else(|| {
        if endpoints.len() >= ENDPOINTS_MAX {
            return endpoint.socket;
        }
        endpoints.push(endpoint);
        endpoints.len() - 1
    });
    u8::try_from(number).unwrap_or(0)
}

fn bind(address: SocketAddr) -> io::Result<Bound> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    if !force_receive_buffer(&socket) {
        // Less is enough for all but floods.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
    }
    let socket = UdpSocket::from_std(socket.into());
    let address = socket.local_addr()?;
    Ok(Bound { socket, state, address })
}

#[cfg(target_os = "linux")]
fn force_receive_buffer(socket: &Socket) -> bool {
    use rustix::net::sockopt::set_socket_recv_buffer_size_force;
    set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER_BYTES).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn force_receive_buffer(_: &Socket) -> bool {
    false
}

/// An IPv4 address as such, whatever socket it arrived at.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        // With its scope.
        IpAddr::V6(_) => address,
    }
}

/// An address as a socket of both families takes it.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_local_address_has_a_number_of_its_own_while_there_is_room() {
        let mut endpoints = vec![Endpoint { socket: 0, local: None }];
        let at = |last: u16| Endpoint { socket: 0, local: Some(IpAddr::from([last; 8])) };
        for last in 1..256 {
            assert_eq!(usize::from(number(&mut endpoints, at(last))), usize::from(last));
        }
        assert_eq!(number(&mut endpoints, at(9)), 9, "known");
        assert_eq!(number(&mut endpoints, at(300)), 0, "no room: the system chooses");
    }

    #[test]
    fn a_wildcard_socket_answers_both_families() {
        let mut sockets = Sockets::bind(&["[::]:0".parse().expect("one")]).expect("a socket");
        let port = sockets.addresses()[0].port();
        for (from, to) in [
            ("127.0.0.1:0", IpAddr::from([127, 0, 0, 5])),
            ("[::1]:0", "::1".parse().expect("one")),
        ] {
            let host = std::net::UdpSocket::bind(from).expect("a socket");
            host.send_to(b"ask", (to, port)).expect("sent");
            let mut arrived = None;
            while arrived.is_none() {
                sockets.receive(0, |path, bytes| arrived = Some((path, bytes.to_vec())));
            }
            let (path, bytes) = arrived.expect("arrived");
            assert_eq!(bytes, b"ask");
            let Path::Udp { socket, address } = path else { panic!("{path:?}") };
            assert_eq!(address, host.local_addr().expect("bound"));
            sockets.send(socket, address, b"answer");
            let mut buffer = [0; 16];
            let (len, source) = host.recv_from(&mut buffer).expect("an answer");
            assert_eq!((&buffer[..len], source), (&b"answer"[..], SocketAddr::new(to, port)));
        }
    }
}
