//! Streams of hosts, TCP or TLS, and the sockets that take them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};
use slab::Slab;
use socket2::{Domain, Protocol, Socket, Type};
use windlass_base::{Deadlines, Span, Time};

use super::stream::Stream;
use super::tls::{Progress, Security, Tls};
use super::udp::canonical;
use crate::server::shares::Shares;
use crate::server::source::{Buckets, Secret};

/// New streams of one network a second, and at once: each costs a handshake.
const OPENED_PER_S: u32 = 20;
const OPENED_BURST: u32 = 200;
/// A stream that was silent for longer makes room for a new one.
const SILENT_FOR_LONG: Span = Span::from_secs(60);
/// Connections that the system holds until they are accepted.
const BACKLOG: i32 = 1024;
/// Connections accepted before others get their turn.
const TURN: usize = 64;

/// How many streams there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// At once.
    pub streams: usize,
    /// At once of one network: an IPv4 address or an IPv6 /64. An IPv6 /48 or IPv4 /24 may have 16
    /// times as many and at most half of all, a /32 or /16 64 times as many and at most three quarters.
    pub per_network: usize,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { streams: 20_000, per_network: 500 }
    }
}

struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

pub(super) struct Streams {
    listeners: Vec<Listener>,
    streams: Slab<Stream>,
    by_id: BTreeMap<u64, usize>,
    /// Each with the time when it was last heard.
    by_silence: Deadlines<usize>,
    shares: Shares,
    max: usize,
    opened: Buckets,
    secret: Secret,
    next_id: u64,
    closed: Vec<u64>,
    /// Those with messages that have not been written.
    unwritten: BTreeSet<u64>,
    pub(super) counters: StreamCounters,
}

/// Counts of streams and their messages since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamCounters {
    pub(super) accepted: u64,
    /// Not accepted, because there were too many.
    pub(super) refused: u64,
    /// Ended by an error: no TLS, no STUN, reset.
    pub(super) failed: u64,
    /// Messages that did not fit the backlog.
    pub(super) dropped: u64,
    /// At present.
    pub(super) open: u64,
}

impl Streams {
    pub(super) fn new(limits: StreamLimits, secret: [u8; 16]) -> Streams {
        Streams {
            listeners: Vec::new(),
            streams: Slab::new(),
            by_id: BTreeMap::new(),
            by_silence: Deadlines::default(),
            shares: Shares::new(limits.streams, limits.per_network),
            max: limits.streams,
            opened: Buckets::new(OPENED_PER_S, OPENED_BURST),
            secret: Secret::new(secret),
            next_id: 0,
            closed: Vec::new(),
            unwritten: BTreeSet::new(),
            counters: StreamCounters::default(),
        }
    }

    /// Listens at an address.
    pub(super) fn listen(
        &mut self,
        address: SocketAddr,
        tls: Option<Tls>,
    ) -> io::Result<SocketAddr> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            // A wildcard takes both families, as the sockets of UDP do.
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        let socket = TcpListener::from_std(socket.into());
        let address = socket.local_addr()?;
        self.listeners.push(Listener { socket, address, tls });
        Ok(address)
    }

    /// The addresses with TLS, or those without.
    pub(super) fn addresses(&self, tls: bool) -> Vec<SocketAddr> {
        let listeners = self.listeners.iter().filter(|one| one.tls.is_some() == tls);
        listeners.map(|one| one.address).collect()
    }

    /// The listening sockets, in order, to be registered for events.
    pub(super) fn sources(&mut self) -> impl Iterator<Item = &mut TcpListener> {
        self.listeners.iter_mut().map(|listener| &mut listener.socket)
    }

    /// Accepts for a turn. `register` gets each socket and its number. True if there may be more.
    pub(super) fn accept(
        &mut self,
        now: Time,
        listener: usize,
        mut register: impl FnMut(&mut TcpStream, usize) -> io::Result<()>,
    ) -> bool {
        for _ in 0..TURN {
            let Some(one) = self.listeners.get(listener) else { return false };
            let security = one.tls.clone().map_or_else(Security::plain, Security::tls);
            match one.socket.accept() {
                Ok((socket, address)) => {
                    let address = canonical(address);
                    if !self.admits(now, address) {
                        self.counters.refused += 1;
                    } else if self.insert(now, (socket, address), security, &mut register).is_err()
                    {
                        self.counters.failed += 1;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if is_of_one_connection(&error) => {}
                // No more files. The next event of the listener tries again.
                Err(_) => return false,
            }
        }
        true
    }

    fn admits(&mut self, now: Time, address: SocketAddr) -> bool {
        if self.shares.full(address).is_some() || !self.opened.take(&self.secret, now, address) {
            return false;
        }
        if self.streams.len() < self.max {
            return true;
        }
        match self.by_silence.first() {
            // A full table makes room at the cost of the stream that has been silent for longest.
            Some((heard, number)) if heard + SILENT_FOR_LONG <= now => {
                self.close(number);
                true
            }
            _ => false,
        }
    }

    fn insert(
        &mut self,
        now: Time,
        (mut socket, address): (TcpStream, SocketAddr),
        security: Security,
        register: &mut impl FnMut(&mut TcpStream, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        socket.set_nodelay(true)?;
        allow_fragments(&socket);
        let entry = self.streams.vacant_entry();
        register(&mut socket, entry.key())?;
        let id = self.next_id;
        self.next_id += 1;
        self.by_id.insert(id, entry.key());
        self.by_silence.insert(now, entry.key());
        entry.insert(Stream::new(now, id, (socket, address), security));
        self.shares.add(address);
        self.counters.accepted += 1;
        Ok(())
    }

    /// Reads from a stream for a turn, and writes what waits. True if there may be more to read.
    pub(super) fn serve(
        &mut self,
        now: Time,
        number: usize,
        mut deliver: impl FnMut(u64, SocketAddr, &[u8]),
    ) -> bool {
        let Some(stream) = self.streams.get_mut(number) else { return false };
        let (id, address, heard) = (stream.id, stream.address, stream.last_heard);
        let received = stream.receive(now, |message| deliver(id, address, message));
        // The index follows, so that the most silent stream is found at once.
        if stream.last_heard != heard {
            self.by_silence.remove(heard, number);
            self.by_silence.insert(stream.last_heard, number);
        }
        match received.and_then(|progress| stream.write().map(|()| progress)) {
            Ok(Progress::Ended) => {
                self.close(number);
                false
            }
            Ok(progress) => progress == Progress::More,
            Err(_) => {
                self.fail(number);
                false
            }
        }
    }

    /// Queues a message for a host until [`Streams::write`].
    pub(super) fn send(&mut self, id: u64, message: &[u8]) {
        let Some(&number) = self.by_id.get(&id) else { return };
        if self.streams[number].send(message) {
            self.unwritten.insert(id);
        } else {
            self.counters.dropped += 1;
        }
    }

    /// Writes the queued messages.
    pub(super) fn write(&mut self) {
        for id in std::mem::take(&mut self.unwritten) {
            let Some(&number) = self.by_id.get(&id) else { continue };
            if self.streams[number].write().is_err() {
                self.fail(number);
            }
        }
    }

    fn fail(&mut self, number: usize) {
        self.counters.failed += 1;
        self.close(number);
    }

    fn close(&mut self, number: usize) {
        let mut stream = self.streams.remove(number);
        stream.close();
        self.by_id.remove(&stream.id);
        self.by_silence.remove(stream.last_heard, number);
        self.shares.remove(stream.address);
        // The server forgets its registrations and allocations at the next flush.
        self.closed.push(stream.id);
    }

    /// Closes the streams that are silent for too long.
    pub(super) fn expire(&mut self, now: Time) {
        let overdue = self.streams.iter().filter(|(_, stream)| stream.is_overdue(now));
        for number in overdue.map(|(number, _)| number).collect::<Vec<_>>() {
            self.close(number);
        }
    }

    /// The next stream that has ended.
    pub(super) fn poll_closed(&mut self) -> Option<u64> {
        self.closed.pop()
    }

    pub(super) fn counters(&self) -> StreamCounters {
        StreamCounters { open: self.streams.len() as u64, ..self.counters }
    }
}

/// Lets routers fragment packets over IPv4: whether their ICMP messages (RFC 1191) arrive here is not
/// known, and without them a host on a small path would get nothing but short messages (RFC 2923,
/// section 2.1). IPv6 routers do not fragment.
#[cfg(target_os = "linux")]
fn allow_fragments(socket: &TcpStream) {
    use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
    // A connection over IPv6 has no such option.
    let _ = set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::DONT);
}

/// Without such an option.
#[cfg(not(target_os = "linux"))]
fn allow_fragments(_: &TcpStream) {}

/// Errors of accept(2) that concern the connection and not the listening socket.
fn is_of_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}
