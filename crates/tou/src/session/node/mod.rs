//! A UDP port with its sessions: the host of this process on a real network.

mod revive;

use super::addresses::{local_addresses, source_for};
use super::host::{Allow, CloseReason, Event, Host, HostConfig, Outgoing, Route, SessionInfo};
use super::one_session::{OUTAGE_MAX, SessionState};
use super::rendezvous::{RendezvousAddress, resolve_all};
use super::server::Channel;
use super::stream::StreamSender;
use crate::driver::{Companion, Destination, Own, Waiters, block_on, register};
use crate::endpoint::{ConnectError, Endpoint};
use crate::handle::canonical;
use crate::{Options, TouListener, TouSocket, TouStream};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};
use windlass_identity::{PublicKey, SecretKey};
use windlass_qlog as qlog;
use windlass_tcp::Error;
use windlass_tou_wire::SessionPeer;

/// How often the node looks whether this host's addresses have changed.
const ADDRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Events that wait for [`Node::poll_event`]. The oldest are dropped beyond it.
const EVENTS_MAX: usize = 1024;

/// Settings of a [`Node`]. Start from [`NodeOptions::new`].
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeOptions {
    /// The identity of this host.
    pub key: SecretKey,
    /// Identifies this installation at the rendezvous. Another installation with the same key is
    /// refused while this one is registered. Random by default.
    pub instance: [u8; 16],
    /// The hosts that may open sessions. By default none.
    pub allow: Allow,
    /// The rendezvous servers, the preferred one first.
    pub rendezvous: Vec<RendezvousAddress>,
    /// The UDP address to bind. By default all addresses, IPv6 and IPv4, and a port that the system
    /// chooses.
    pub bind: Option<SocketAddr>,
    /// Use relays only, and do not reveal this host's addresses to peers. Default: off.
    pub relay_only: bool,
    /// How long a session with open connections is kept without a path, for example if the peer has
    /// crashed. Default: 15 minutes.
    pub outage_max: Duration,
    /// Options of the connections.
    pub connections: Options,
}

impl NodeOptions {
    /// The default options of a host with this key.
    pub fn new(key: SecretKey) -> NodeOptions {
        let mut instance = [0; 16];
        fill_random(&mut instance);
        NodeOptions {
            key,
            instance,
            allow: Allow::NoHost,
            rendezvous: Vec::new(),
            bind: None,
            relay_only: false,
            outage_max: Duration::from_nanos(OUTAGE_MAX.as_nanos()),
            connections: Options::for_sessions(),
        }
    }
}

/// Fills `bytes` from the system's random source.
fn fill_random(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("a system with a random source");
}

/// A UDP port with its sessions. Clones are references to the same node. The last one to be dropped
/// closes the sessions.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    socket: TouSocket,
    listener: TouListener,
    state: Arc<Mutex<State>>,
    rendezvous: Vec<RendezvousAddress>,
}

/// The node's part of the port's state. The port's lock is always taken first.
struct State {
    host: Host,
    streams: BTreeMap<usize, StreamSender>,
    next_stream: usize,
    /// Servers that have become silent.
    silent: Vec<usize>,
    /// Servers that a thread tries to reach again.
    reviving: BTreeSet<usize>,
    events: VecDeque<Event>,
    /// Why sessions ended, until the waiting threads have seen it.
    closed: BTreeMap<u32, CloseReason>,
    waiting: Vec<Waker>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("local", &self.local_addr()).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.socket.port().set_companion(None);
    }
}

impl Node {
    /// Binds a port and registers this host at its rendezvous servers, if any host may open sessions
    /// with it.
    ///
    /// # Errors
    /// If the address cannot be bound, or no rendezvous's name be resolved. Of several, the others are
    /// resolved later.
    pub fn bind(options: NodeOptions) -> io::Result<Node> {
        let NodeOptions { key, instance, allow, rendezvous, bind, connections, .. } = options;
        let outage_max = u64::try_from(options.outage_max.as_nanos()).unwrap_or(u64::MAX);
        let socket = bind_socket(bind, &connections)?;
        let local = socket.local_addr();
        let config = HostConfig {
            key,
            instance,
            allow,
            relay_only: options.relay_only,
            outage_max: Span::from_nanos(outage_max),
            random: Box::new(fill_random),
            source_for: Box::new(source_for),
        };
        let host = Host::new(config, local.port());
        let servers = resolve_all(&rendezvous, local.is_ipv6())?;
        let state = Arc::new(Mutex::new(State {
            host,
            streams: BTreeMap::new(),
            next_stream: 0,
            silent: Vec::new(),
            reviving: BTreeSet::new(),
            events: VecDeque::new(),
            closed: BTreeMap::new(),
            waiting: Vec::new(),
        }));
        socket.port().with(|port, _| port.endpoint.serve_sessions_only());
        let listener = socket.listen()?;
        socket.port().set_companion(Some(Box::new(Arc::clone(&state))));
        let node = Node(Arc::new(Inner { socket, listener, state, rendezvous }));
        node.change(|state, _, now| {
            state.host.set_addresses(now, usable_addresses(local));
            for (address, named) in servers.into_iter().zip(&node.0.rendezvous) {
                state.host.add_rendezvous(now, address, named.key);
            }
        });
        node.watch()?;
        Ok(node)
    }

    /// This host's public key.
    pub fn public_key(&self) -> PublicKey {
        self.change(|state, _, _| state.host.public_key())
    }

    /// The local UDP address.
    pub fn local_addr(&self) -> SocketAddr {
        self.0.socket.local_addr()
    }

    /// Opens a session with the host that has this key, and waits for a path.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] at the timeout, otherwise a [`CloseReason`]: its kind is
    /// [`ErrorKind::PermissionDenied`] if the peer does not allow this host's key,
    /// [`ErrorKind::NotFound`] if the key is not registered, and [`ErrorKind::HostUnreachable`] if
    /// there is no path or no rendezvous.
    pub fn connect(&self, peer: PublicKey, timeout: Option<Duration>) -> io::Result<Session> {
        let session = self.begin(peer)?;
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        match block_on(deadline, |waker| session.poll_connected(waker)) {
            Some(result) => result.map(|()| session),
            None => {
                session.close();
                Err(io::Error::new(ErrorKind::TimedOut, "no path to the peer within the time"))
            }
        }
    }

    /// Begins a session without waiting; see [`Session::poll_connected`].
    ///
    /// # Errors
    /// [`ErrorKind::HostUnreachable`] without a rendezvous, or with too many sessions.
    pub fn begin(&self, peer: PublicKey) -> io::Result<Session> {
        let tag = self.change_and_wake(|state, endpoint, now, wakers| {
            let tag = state.host.connect(now, peer);
            state.take_events(now, endpoint, wakers);
            tag
        });
        Ok(Session { node: self.clone(), tag: tag.map_err(close_error)?, peer })
    }

    /// Waits for the next connection of any session. Returns it with the key of the host that
    /// opened it.
    ///
    /// # Errors
    /// If the connection's session ended meanwhile.
    pub fn accept(&self) -> io::Result<(TouStream, PublicKey)> {
        let (stream, address) = self.0.listener.accept()?;
        self.accepted(stream, address)
    }

    /// Ready with the next connection of any session. Leaves the waker otherwise.
    ///
    /// # Errors
    /// As [`Node::accept`].
    pub fn poll_accept(&self, waker: &Waker) -> Poll<io::Result<(TouStream, PublicKey)>> {
        let accepted = self.0.listener.poll_accept(waker);
        accepted.map(|(stream, address)| self.accepted(stream, address))
    }

    /// Whether [`Node::accept`] would not wait. Leaves the waker if it would.
    pub fn poll_acceptable(&self, waker: &Waker) -> bool {
        self.0.listener.poll_acceptable(waker)
    }

    fn accepted(&self, stream: TouStream, from: SocketAddr) -> io::Result<(TouStream, PublicKey)> {
        let session = SessionPeer::of(&from);
        let peer = session.and_then(|session| self.change(|s, _, _| s.host.peer(session.tag)));
        let gone = || io::Error::new(ErrorKind::ConnectionAborted, "the session has ended");
        Ok((stream, peer.ok_or_else(gone)?))
    }

    /// The sessions of this host.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.change(|state, _, _| {
            state.host.tags().into_iter().filter_map(|tag| state.host.info(tag)).collect()
        })
    }

    /// The next event, for a log. Leaves the waker if there is none.
    pub fn poll_event(&self, waker: &Waker) -> Poll<Event> {
        self.change(|state, _, _| match state.events.pop_front() {
            Some(event) => Poll::Ready(event),
            None => {
                register(&mut state.waiting, waker);
                Poll::Pending
            }
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut State, &mut Endpoint<Waiters>, Time) -> T) -> T {
        let port = self.0.socket.port();
        port.with(|port, now| change(&mut lock(&self.0.state), &mut port.endpoint, now))
    }

    /// As [`Node::change`], for changes that make events: wakes those that wait for them.
    fn change_and_wake<T>(
        &self,
        change: impl FnOnce(&mut State, &mut Endpoint<Waiters>, Time, &mut Vec<Waker>) -> T,
    ) -> T {
        let mut wakers = Vec::new();
        let result = self.change(|state, endpoint, now| change(state, endpoint, now, &mut wakers));
        // Without the locks, which a woken task may want.
        wakers.into_iter().for_each(Waker::wake);
        result
    }

    /// Starts the thread that notices changed addresses and silent servers. It ends with the node.
    fn watch(&self) -> io::Result<()> {
        let inner = Arc::downgrade(&self.0);
        let watch = move || {
            while let Some(inner) = inner.upgrade() {
                let node = Node(inner);
                node.look_around();
                drop(node);
                thread::sleep(ADDRESS_INTERVAL / 4);
            }
        };
        thread::Builder::new().name("tou-node".into()).spawn(watch)?;
        Ok(())
    }

    fn look_around(&self) {
        let addresses = usable_addresses(self.local_addr());
        let silent = self.change_and_wake(|state, endpoint, now, wakers| {
            state.host.set_addresses(now, addresses);
            for tag in state.host.tags() {
                state.host.set_in_use(tag, endpoint.session_len(tag) > 0);
            }
            state.take_events(now, endpoint, wakers);
            let silent: BTreeSet<_> = std::mem::take(&mut state.silent).into_iter().collect();
            let new: Vec<_> = silent.difference(&state.reviving).copied().collect();
            state.reviving.extend(&new);
            new
        });
        silent.into_iter().for_each(|server| self.revive(server));
    }
}

fn bind_socket(bind: Option<SocketAddr>, options: &Options) -> io::Result<TouSocket> {
    let port = |address| TouSocket::bind_with(address, options);
    match bind {
        Some(address) => port(address),
        // A system without IPv6 refuses the first.
        None => port(SocketAddr::from(([0_u16; 8], 0)))
            .or_else(|_| port(SocketAddr::from(([0_u8; 4], 0)))),
    }
}

/// This host's addresses that a socket bound to `local` can use.
fn usable_addresses(local: SocketAddr) -> Vec<IpAddr> {
    let all = local_addresses().into_iter();
    match local.ip() {
        ip if !ip.is_unspecified() => vec![ip],
        IpAddr::V4(_) => all.filter(IpAddr::is_ipv4).collect(),
        IpAddr::V6(_) => all.collect(),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn close_error(reason: CloseReason) -> io::Error {
    let kind = match reason {
        CloseReason::NotAllowed => ErrorKind::PermissionDenied,
        CloseReason::NotRegistered => ErrorKind::NotFound,
        CloseReason::Closed => ErrorKind::ConnectionAborted,
        CloseReason::OwnKey => ErrorKind::InvalidInput,
        _ => ErrorKind::HostUnreachable,
    };
    io::Error::new(kind, reason)
}

impl State {
    fn handle(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint<Waiters>,
        channel: Channel,
        (local, from): (Option<IpAddr>, SocketAddr),
        bytes: &[u8],
        wakers: &mut Vec<Waker>,
    ) {
        for (peer, data) in self.host.handle(now, channel, local, from, bytes) {
            // Relays do not pass the ECN field on (RFC 8656 §12.6 leaves it to them).
            endpoint.handle_datagrams(now, peer, windlass_base::Ecn::NotEct, &data, data.len());
        }
        self.take_events(now, endpoint, wakers);
    }

    /// Applies the host's events to the endpoint.
    fn take_events(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint<Waiters>,
        wakers: &mut Vec<Waker>,
    ) {
        while let Some(event) = self.host.poll_event() {
            match &event {
                Event::Opened { tag, .. } => {
                    endpoint.open_session(*tag);
                }
                Event::PathFound { tag } | Event::PathChanged { tag } => {
                    endpoint.note_path(now, *tag, self.path_of(*tag));
                    // RFC 9000 §9.4: congestion control begins anew on another path.
                    if self.host.is_on_new_path(*tag) {
                        endpoint.path_replaced(now, *tag);
                    }
                    match event {
                        Event::PathFound { .. } => endpoint.path_found(now, *tag),
                        _ => endpoint.path_changed(now, *tag),
                    }
                }
                Event::PathLost { tag } => endpoint.note_path(now, *tag, None),
                Event::Closed { tag, reason } => {
                    endpoint.close_session(*tag, Error::Unreachable);
                    // Calls on the session return the reason from now on.
                    self.closed.insert(*tag, *reason);
                }
                Event::Silent { server } | Event::WrongKey { server, .. } => {
                    // The node's thread looks up the name again and tries TLS.
                    self.silent.push(*server);
                }
                Event::StreamUnneeded { stream } => {
                    self.streams.remove(stream);
                }
                _ => {}
            }
            // A program that reads no events keeps the last ones only.
            if self.events.len() >= EVENTS_MAX {
                self.events.pop_front();
            }
            self.events.push_back(event);
            wakers.append(&mut self.waiting);
        }
        self.send_streams();
    }

    fn path_of(&self, tag: u32) -> Option<qlog::Path> {
        let info = self.host.info(tag)?;
        let (local, remote) = info.path?;
        Some(qlog::Path { local, remote, relayed: info.relayed })
    }

    /// Sends what belongs to streams; the rest waits for [`Companion::poll_transmit`].
    fn send_streams(&mut self) {
        if self.streams.is_empty() {
            return;
        }
        self.host.for_streams(|stream, bytes| {
            if let Some(sender) = self.streams.get(&stream) {
                sender.send(bytes);
            }
        });
    }
}

impl Companion for Arc<Mutex<State>> {
    fn takes(&self, from: &SocketAddr, datagram: &[u8]) -> bool {
        lock(self).host.is_for_host(&canonical(*from), datagram)
    }

    fn handle(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint<Waiters>,
        (local, from): (Option<IpAddr>, SocketAddr),
        datagram: &[u8],
        wakers: &mut Vec<Waker>,
    ) {
        let from = canonical(from);
        let local = local.map(|ip| ip.to_canonical());
        lock(self).handle(now, endpoint, Channel::Udp, (local, from), datagram, wakers);
    }

    fn destination(&self, tag: u32) -> Option<Destination> {
        Some(match lock(self).host.route(tag)? {
            Route::Direct { local, peer } => Destination::Direct { local, peer },
            Route::Relayed => Destination::Relayed,
        })
    }

    fn relay(&mut self, now: Time, tag: u32, datagram: &[u8]) -> Option<Own> {
        let mut state = lock(self);
        let Outgoing { channel, local, to, bytes, .. } = state.host.wrap(now, tag, datagram)?;
        match channel {
            Channel::Udp => Some(Own { local, to, bytes, ttl: None }),
            Channel::Stream(stream) => {
                if let Some(sender) = state.streams.get(&stream) {
                    sender.send(bytes);
                }
                None
            }
        }
    }

    fn poll_transmit(&mut self) -> Option<Own> {
        let Outgoing { local, to, bytes, ttl, .. } = lock(self).host.poll_transmit()?;
        Some(Own { local, to, bytes, ttl })
    }

    fn poll_timeout(&self) -> Option<Time> {
        lock(self).host.poll_timeout()
    }

    fn handle_timeout(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint<Waiters>,
        wakers: &mut Vec<Waker>,
    ) {
        let mut state = lock(self);
        state.host.handle_timeout(now);
        state.take_events(now, endpoint, wakers);
    }
}

/// A session with another host.
#[derive(Clone, Debug)]
pub struct Session {
    node: Node,
    tag: u32,
    peer: PublicKey,
}

impl Session {
    /// The other host's key.
    pub fn peer(&self) -> PublicKey {
        self.peer
    }

    /// Ready when datagrams can travel, or when the session has failed.
    pub fn poll_connected(&self, waker: &Waker) -> Poll<io::Result<()>> {
        self.node.change(|state, _, _| {
            if let Some(reason) = state.closed.get(&self.tag) {
                return Poll::Ready(Err(close_error(*reason)));
            }
            match state.host.info(self.tag) {
                Some(info) if info.state == SessionState::Connected => Poll::Ready(Ok(())),
                _ => {
                    register(&mut state.waiting, waker);
                    Poll::Pending
                }
            }
        })
    }

    /// Opens a connection in this session.
    ///
    /// # Errors
    /// As [`TouStream::connect`], and [`ErrorKind::HostUnreachable`] if the session has ended.
    pub fn open(&self) -> io::Result<TouStream> {
        let stream = self.begin_open()?;
        stream.wait_connected(None)?;
        Ok(stream)
    }

    /// Begins a connection without waiting; see [`TouStream::poll_connected`].
    ///
    /// # Errors
    /// [`ErrorKind::HostUnreachable`] if the session has ended, [`ErrorKind::QuotaExceeded`] if
    /// the port has too many connections.
    pub fn begin_open(&self) -> io::Result<TouStream> {
        let socket = &self.node.0.socket;
        let begun = self.node.change(|state, endpoint, now| {
            let lost = || state.closed.get(&self.tag).copied().unwrap_or(CloseReason::Closed);
            let reason = lost();
            let number = state.host.take_number(self.tag).ok_or_else(|| close_error(reason))?;
            let address = SessionPeer { tag: self.tag, number }.address();
            let config = socket.options().config_for(&address);
            let id = endpoint.connect(now, address, config);
            let id = id.map_err(|error| match error {
                ConnectError::Exists => io::Error::new(ErrorKind::AddrInUse, error),
                ConnectError::TooMany => io::Error::new(ErrorKind::QuotaExceeded, error),
            })?;
            Ok::<_, io::Error>((id, address))
        });
        let (id, address) = begun?;
        Ok(TouStream::on(socket.port_ref(), id, address))
    }

    /// State, path and candidates; `None` if the session has ended.
    pub fn info(&self) -> Option<SessionInfo> {
        self.node.change(|state, _, _| state.host.info(self.tag))
    }

    /// Ends the session. Its connections fail.
    pub fn close(&self) {
        self.node.change_and_wake(|state, endpoint, now, wakers| {
            state.host.close(now, self.tag);
            state.take_events(now, endpoint, wakers);
        });
    }
}
