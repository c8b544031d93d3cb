//! A discovery with sockets and the clock.

use super::{Discovery, Findings, Socket, Transmit};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use windlass_base::{Rng, Time};

/// Larger than any datagram.
const DATAGRAM_BYTES_MAX: usize = 65_536;

const SOCKETS: [Socket; 2] = [Socket::First, Socket::Second];

/// Discovers what is between this host and a server, from two free ports of the address from which
/// the system would send to it. Without an answer it takes 7.5 s, otherwise some round trips and
/// timeouts.
///
/// # Errors
///
/// There is no route to the server, or a socket cannot be opened.
pub fn discover(server: SocketAddr) -> io::Result<Findings> {
    let local = local_address(server)?;
    let mut sockets = [bind(local)?, bind(local)?];
    let mut poll = Poll::new()?;
    for (index, socket) in sockets.iter_mut().enumerate() {
        poll.registry().register(socket, Token(index), Interest::READABLE)?;
    }
    let start = Instant::now();
    let now = || Time::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    // Keyed anew in each process: others cannot guess the transaction ids.
    let rng = Rng::new(RandomState::new().hash_one(local));
    let mut discovery = Discovery::new(now(), server, sockets[0].local_addr()?, rng);
    let mut events = Events::with_capacity(SOCKETS.len());
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        while let Some(Transmit { socket, destination, bytes }) = discovery.poll_transmit() {
            // A datagram that cannot be sent counts as lost: it will be sent again.
            let _ = sockets[socket as usize].send_to(&bytes, destination);
        }
        if let Some(findings) = discovery.result() {
            return Ok(findings.clone());
        }
        let wait = discovery.poll_timeout().unwrap_or(Time::ZERO).saturating_since(now());
        let wait = Duration::from_nanos(wait.as_nanos());
        match poll.poll(&mut events, Some(wait)) {
            Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        for (socket, which) in sockets.iter().zip(SOCKETS) {
            while let Some((len, source)) = receive(socket, &mut buffer) {
                discovery.handle_datagram(now(), which, source, &buffer[..len]);
            }
        }
        discovery.handle_timeout(now());
    }
}

/// The next datagram. An ICMP error counts as no datagram.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result.ok(),
        }
    }
}

/// The address from which the system sends to `server`. Nothing is sent.
fn local_address(server: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    Ok(socket.local_addr()?.ip())
}

fn bind(address: IpAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(SocketAddr::new(address, 0))
}
