//! One UDP port and the connections over it, without any I/O.
//!
//! The caller passes in datagrams and the time, and takes out datagrams and events, as with the
//! engine's own [`Connection`]:
//!
//! 1. Change the endpoint: pass it datagrams, connect, write, read.
//! 2. Drain [`Endpoint::poll_transmit`] and [`Endpoint::poll_event`].
//! 3. Call [`Endpoint::handle_timeout`] at the time that [`Endpoint::poll_timeout`] returns.
//!
//! The same code runs over a socket and in virtual time.

mod addresses;
mod contents;
mod cookie;
mod incoming;
mod listen;
mod memory;
mod outgoing;
mod path_mtu;
mod receive_buffer;
mod released;
mod reports;
mod rtt_samples;
mod secret;
mod sessions;
#[cfg(test)]
mod tests;

pub use addresses::Addresses;
pub(crate) use contents::Contents;
pub use listen::ListenError;
pub use outgoing::Datagrams;
pub(crate) use path_mtu::longer_headers;
pub use windlass_base::{Ecn, Span, Time};
pub use windlass_tcp::stream::Stream;
pub use windlass_tcp::{Config, Connection, Error, Event, State};

use listen::Listening;
use path_mtu::PathMtu;
use receive_buffer::{Share, SharedReceiveBuffer};
use secret::Secret;
use sessions::Sessions;
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};
use std::{error, fmt};
use windlass_base::{Deadlines, RateLimit, Sketch, TokenBucket};
use windlass_qlog::{FileLog, Folder, Header, Vantage};
use windlass_tcp::Segment;

/// How long a released connection waits for the peer's FIN after its own FIN was acknowledged
/// (Linux's tcp_fin_timeout).
const ORPHAN: Span = Span::from_secs(60);

/// Limits of an endpoint.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of connections, including those in TIME-WAIT.
    pub connections: usize,
    /// Bytes in the buffers of all connections, counting advertised windows as if they were full. An
    /// idle connection counts for about 30 KB. At the limit, no connection begins and no buffer
    /// grows: windows stay as they are, and writers wait. One connection may exceed the limit by one
    /// buffer.
    pub memory: u64,
    /// Replies per second to datagrams that belong to no connection: resets and SYN cookies.
    pub replies_per_s: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1 << 16, memory: 4 << 30, replies_per_s: 50_000 }
    }
}

/// Counters of an endpoint's datagrams since it was made.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Datagrams received, of any kind.
    pub received: u64,
    /// Datagrams received that were neither ToU nor STUN.
    pub unknown: u64,
    /// Datagrams received with ToU's cookie that were not a valid segment of this version.
    pub malformed: u64,
    /// STUN messages received.
    pub stun: u64,
    /// Segments received, other than SYNs and returned cookies, that belong to no connection.
    pub strays: u64,
    /// Segments dropped because they belong to no open session, because the endpoint serves sessions
    /// only, or because they are SYNs of a session that came back to their sender.
    pub outside: u64,
    /// SYNs received while the endpoint did not listen.
    pub refused: u64,
    /// SYNs and returned cookies dropped because of the accept queue or a limit.
    pub overflowed: u64,
    /// SYNs answered by a SYN cookie.
    pub cookies_sent: u64,
    /// Connections restored from a SYN cookie.
    pub cookies_redeemed: u64,
    /// Resets sent in reply to segments that belong to no connection.
    pub resets: u64,
    /// Replies not sent because [`Limits::replies_per_s`] was used up.
    pub unanswered: u64,
    /// Datagrams sent, of any kind.
    pub sent: u64,
    /// Datagrams that the socket refused to send. The connection treats them as lost.
    pub unsent: u64,
}

/// Identifies a connection of an endpoint. An endpoint never uses an id for a second connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    key: usize,
    serial: u64,
}

/// Why [`Endpoint::connect`] began no connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The endpoint has a connection with this peer already.
    Exists,
    /// [`Limits::connections`] or [`Limits::memory`] is reached.
    TooMany,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConnectError::Exists => "this port has a connection with that peer already",
            ConnectError::TooMany => "this port has reached its limit of connections or memory",
        })
    }
}

impl error::Error for ConnectError {}

/// A connection and the endpoint's state for it.
struct Slot<Data> {
    serial: u64,
    addresses: Addresses,
    stream: Stream,
    /// Path MTU discovery, which begins at the end of the handshake.
    path_mtu: Option<PathMtu>,
    /// The connection is in [`Endpoint::ready`].
    queued: bool,
    /// The connection's entry among the deadlines.
    timer_at: Option<Time>,
    /// The connection's share of the socket's receive buffer.
    share: Share,
    /// The engine has reported room to write; the event waits until there is enough of it.
    writable_pending: bool,
    /// Bytes in its buffers, as counted in [`Endpoint::memory`].
    memory: u64,
    /// Its buffers may not grow.
    growth_held: bool,
    /// Set from a SYN's arrival until the connection is accepted.
    passive: Option<Passive>,
    /// The application has released the connection.
    released: bool,
    /// When a released connection in FIN-WAIT-2 is removed.
    orphan_until: Option<Time>,
    /// Writes the events of the connection.
    log: Option<Box<FileLog>>,
    /// Its RTT samples, where the application wants them.
    rtt_samples: Option<Box<Sketch>>,
    error: Option<Error>,
    data: Data,
}

impl<Data> Slot<Data> {
    /// In TIME-WAIT or closed, with nothing left to read.
    fn is_over(&self) -> bool {
        let connection = self.stream.connection();
        matches!(connection.state(), State::TimeWait | State::Closed)
            && (self.released || connection.readable() == 0)
    }
}

/// Where the events of connections are written.
struct Qlog {
    folder: Folder,
    /// The date at [`Time::ZERO`].
    epoch: Option<SystemTime>,
}

/// At least a third of the send buffer is free, as in Linux's `sk_stream_write_space`. A writer is
/// then not woken by each ACK.
fn has_write_space(connection: &Connection) -> bool {
    3 * connection.writable() >= connection.send_buffer()
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Passive {
    HalfOpen,
    Complete,
}

/// One UDP port and the connections over it. `Data` is the user's own state of each connection.
pub struct Endpoint<Data = ()> {
    limits: Limits,
    secret: Secret,
    reply_limit: RateLimit,
    reply_bucket: TokenBucket,
    receive_buffer: SharedReceiveBuffer,
    memory: u64,
    slots: Slab<Slot<Data>>,
    /// Without a local address: any connection with the peer.
    peers: HashMap<Addresses, usize>,
    /// The connection that the last segment was for.
    recent: usize,
    next_serial: u64,
    /// Connections that may have something to send.
    ready: VecDeque<usize>,
    /// ACKs of segments that arrived in one batch with others.
    acks: VecDeque<(Addresses, Segment)>,
    /// Replies that belong to no connection.
    replies: VecDeque<(Addresses, Segment)>,
    deadlines: Deadlines<(usize, u64)>,
    events: VecDeque<(ConnectionId, Event)>,
    listening: Option<Listening>,
    sessions: Sessions,
    stun: VecDeque<(Addresses, Box<[u8]>)>,
    counters: Counters,
    qlog: Option<Qlog>,
    /// Whether connections look for the path MTU.
    probes_paths: bool,
    /// Memory for the headers of outgoing datagrams.
    headers: Vec<u8>,
}

impl<Data> fmt::Debug for Endpoint<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Endpoint");
        shown.field("connections", &self.slots.len()).field("counters", &self.counters);
        shown.finish_non_exhaustive()
    }
}

/// Construction and counters.
impl<Data: Default> Endpoint<Data> {
    /// An endpoint without connections. `key` must be random and secret: it protects sequence
    /// numbers and SYN cookies against guessing.
    pub fn new(limits: Limits, key: [u8; 16]) -> Endpoint<Data> {
        let replies_per_s = u64::from(limits.replies_per_s);
        Endpoint {
            limits,
            secret: Secret::new(key),
            reply_limit: RateLimit::per_second(replies_per_s, replies_per_s),
            reply_bucket: TokenBucket::default(),
            receive_buffer: SharedReceiveBuffer::unlimited(),
            memory: 0,
            slots: Slab::new(),
            peers: HashMap::new(),
            recent: 0,
            next_serial: 0,
            ready: VecDeque::new(),
            acks: VecDeque::new(),
            replies: VecDeque::new(),
            deadlines: Deadlines::default(),
            events: VecDeque::new(),
            listening: None,
            sessions: Sessions::default(),
            stun: VecDeque::new(),
            counters: Counters::default(),
            qlog: None,
            probes_paths: true,
            headers: Vec::new(),
        }
    }

    /// Writes the events of each connection that begins from now on to a file in `folder`, or no
    /// longer. `epoch` is the date at [`Time::ZERO`]; `None` in virtual time.
    pub(crate) fn write_qlog(&mut self, folder: Option<Folder>, epoch: Option<SystemTime>) {
        self.qlog = folder.map(|folder| Qlog { folder, epoch });
    }

    /// Whether connections that begin from now on look for the path MTU (RFC 8899). Those that do not
    /// send segments of the configured size at once, which a smaller path drops.
    pub(crate) fn probe_paths(&mut self, on: bool) {
        self.probes_paths = on;
    }

    /// Counters since the endpoint was made.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sets the payload bytes that the socket's receive buffer holds. Advertised windows fit into it.
    pub(crate) fn set_receive_buffer(&mut self, bytes: u64) {
        self.receive_buffer.set_bytes(bytes);
    }

    /// Size of the receive buffer, in payload bytes, with which no window would be small.
    pub(crate) fn wanted_receive_buffer(&self) -> u64 {
        self.receive_buffer.wanted_bytes()
    }

    /// Counts datagrams that the socket refused to send.
    pub(crate) fn count_unsent(&mut self, datagrams: &Datagrams) {
        self.counters.unsent += datagrams.len.div_ceil(datagrams.size.max(1)) as u64;
    }

    /// The number of connections in any state.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if there is no connection.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The next STUN message received, with its source and the address at which it arrived. While 64
    /// messages wait, others are dropped.
    pub(crate) fn poll_stun(&mut self) -> Option<(Addresses, Box<[u8]>)> {
        self.stun.pop_front()
    }
}

/// Opening, use and release of connections, and their timers.
impl<Data: Default> Endpoint<Data> {
    /// Begins a connection, whose SYN is the first datagram to transmit. If the peer connects at the
    /// same time, both SYNs make one connection (RFC 9293 §3.5). Without a local address the connection
    /// takes the one at which the peer's first segment arrives.
    ///
    /// # Errors
    /// - [`ConnectError::Exists`] if there is a connection with this peer that is not over;
    /// - [`ConnectError::TooMany`] if a limit is reached.
    pub fn connect(
        &mut self,
        now: Time,
        to: impl Into<Addresses>,
        config: Config,
    ) -> Result<ConnectionId, ConnectError> {
        let addresses = to.into();
        if let Some(key) = self.peers.get(&addresses) {
            if !self.slots[*key].is_over() {
                return Err(ConnectError::Exists);
            }
            // RFC 9293 §3.6.1: the new sequence numbers begin beyond the old ones.
            self.remove(*key);
        }
        if self.slots.len() >= self.limits.connections || self.is_short_of_memory() {
            return Err(ConnectError::TooMany);
        }
        let isn = self.secret.initial_sequence_number(now, addresses.peer);
        let connection = Connection::connect(listen::without_fallback(config), now, isn);
        let key = self.insert(now, addresses, connection, None);
        self.touch(key);
        Ok(self.id_of(key))
    }

    /// The byte stream of a connection; `None` if the connection was removed.
    pub fn stream(&self, id: ConnectionId) -> Option<&Stream> {
        self.slot(id).map(|slot| &slot.stream)
    }

    /// The byte stream of a connection, to change it. Call [`Endpoint::poll_transmit`] afterwards.
    pub fn stream_mut(&mut self, id: ConnectionId) -> Option<&mut Stream> {
        self.slot(id)?;
        self.limit_growth(id.key);
        self.touch(id.key);
        Some(&mut self.slots[id.key].stream)
    }

    /// The user's state of a connection.
    pub(crate) fn data_mut(&mut self, id: ConnectionId) -> Option<&mut Data> {
        self.slot(id)?;
        Some(&mut self.slots[id.key].data)
    }

    /// The peer's address.
    pub fn peer(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.slot(id).map(|slot| slot.addresses.peer)
    }

    /// The address of this host that the connection uses; see [`Addresses::local`].
    pub fn local(&self, id: ConnectionId) -> Option<IpAddr> {
        self.slot(id)?.addresses.local
    }

    /// Why a connection failed; `None` if it did not.
    pub fn error(&self, id: ConnectionId) -> Option<Error> {
        self.slot(id)?.error
    }

    /// Gives a connection up. Data written so far is delivered, followed by FIN. Unread data, or data
    /// that arrives later, resets the connection (RFC 2525 §2.17).
    pub fn release(&mut self, now: Time, id: ConnectionId) {
        if self.slot(id).is_none() {
            return;
        }
        let slot = &mut self.slots[id.key];
        slot.released = true;
        let unread = slot.stream.connection().readable() > 0;
        let connection = slot.stream.connection_mut();
        // RFC 2525 §2.17: a FIN would say that all data was taken.
        if unread {
            connection.abort();
        } else {
            connection.close(now);
        }
        self.touch(id.key);
    }

    /// The next event of any connection. A released connection has no events.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// When to call [`Endpoint::handle_timeout`]; `None` if no timer runs. The time may be earlier
    /// than needed, but never later.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadlines.next()
    }

    /// Runs the timers that are due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((entered, (key, serial))) = self.deadlines.pop(now) {
            // A timer may outlive its connection, and another connection may have the key by now.
            let Some(slot) = self.slots.get_mut(key).filter(|slot| slot.serial == serial) else {
                continue;
            };
            if slot.timer_at == Some(entered) {
                slot.timer_at = None;
            }
            let connection = slot.stream.connection_mut();
            // The peer never sends its FIN, and the application waits for nothing.
            if slot.orphan_until.is_some_and(|until| until <= now) {
                connection.abort();
                self.touch(key);
            } else if connection.poll_timeout().is_some_and(|at| at <= now) {
                match &mut slot.log {
                    None => connection.handle_timeout(now, &mut ()),
                    Some(log) => connection.handle_timeout(now, &mut **log),
                }
                self.touch(key);
            } else {
                self.schedule(key);
            }
        }
    }
}

impl<Data: Default> Endpoint<Data> {
    fn slot(&self, id: ConnectionId) -> Option<&Slot<Data>> {
        self.slots.get(id.key).filter(|slot| slot.serial == id.serial)
    }

    fn id_of(&self, key: usize) -> ConnectionId {
        ConnectionId { key, serial: self.slots[key].serial }
    }

    fn insert(
        &mut self,
        now: Time,
        addresses: Addresses,
        mut connection: Connection,
        passive: Option<Passive>,
    ) -> usize {
        self.receive_buffer.limit_initial_window(&mut connection);
        let serial = self.next_serial;
        self.next_serial += 1;
        let log = self.begin_log(now, &addresses.peer, &connection, passive.is_some());
        let key = self.slots.insert(Slot {
            serial,
            addresses,
            stream: Stream::new(connection),
            path_mtu: None,
            queued: false,
            timer_at: None,
            share: Share::default(),
            writable_pending: false,
            memory: 0,
            growth_held: false,
            passive,
            released: false,
            orphan_until: None,
            log,
            rtt_samples: None,
            error: None,
            data: Data::default(),
        });
        self.peers.insert(addresses, key);
        self.peers.entry(addresses.peer.into()).or_insert(key);
        key
    }

    /// The key of the connection with these addresses. One that does not know its local address yet
    /// has any.
    fn key_to(&self, addresses: Addresses) -> Option<usize> {
        let begun = || {
            let key = self.peers.get(&addresses.peer.into());
            key.filter(|key| self.slots[**key].addresses.local.is_none())
        };
        self.peers.get(&addresses).or_else(begun).copied()
    }

    fn begin_log(
        &self,
        now: Time,
        peer: &SocketAddr,
        connection: &Connection,
        passive: bool,
    ) -> Option<Box<FileLog>> {
        let Qlog { folder, epoch } = self.qlog.as_ref()?;
        let title = format!("ToU connection with {peer}");
        let vantage = if passive { Vantage::Server } else { Vantage::Client };
        let clock = epoch.map(|epoch| epoch + Duration::from_nanos(now.as_nanos()));
        let header = Header { title: &title, vantage, start: now, clock };
        let mut log = Box::new(folder.begin(&header, connection)?);
        if let Some(path) = self.sessions.path_of(peer) {
            log.path_updated(now, Some(path));
        }
        Some(log)
    }

    fn remove(&mut self, key: usize) {
        let slot = self.slots.remove(key);
        self.memory -= slot.memory;
        self.peers.remove(&slot.addresses);
        if self.peers.get(&slot.addresses.peer.into()) == Some(&key) {
            self.peers.remove(&slot.addresses.peer.into());
        }
        if let Some(passive) = slot.passive
            && let Some(listening) = &mut self.listening
        {
            listening.forget(passive, ConnectionId { key, serial: slot.serial });
        }
    }

    /// Queues a connection that may have datagrams, events or another deadline.
    fn touch(&mut self, key: usize) {
        let slot = &mut self.slots[key];
        if !slot.queued {
            slot.queued = true;
            self.ready.push_back(key);
        }
    }

    fn schedule(&mut self, key: usize) {
        let slot = &mut self.slots[key];
        let wanted = slot.stream.connection().poll_timeout().into_iter();
        let wanted = wanted.chain(slot.orphan_until).min();
        self.deadlines.schedule(&mut slot.timer_at, wanted, (key, slot.serial));
    }

    /// Collects the events of a connection that has nothing to send now. Removes it if it is closed
    /// and the application has no interest in it.
    fn settle(&mut self, now: Time, key: usize) {
        self.account(key);
        let id = self.id_of(key);
        let slot = &mut self.slots[key];
        let connection = slot.stream.connection_mut();
        // RFC 2525 §2.17: the application will not read what has arrived.
        if slot.released && connection.readable() > 0 && connection.state() != State::Closed {
            // The next call of poll_transmit sends the reset.
            connection.abort();
            return self.touch(key);
        }
        while let Some(event) = slot.stream.connection_mut().poll_event() {
            if let Event::Failed(error) = event {
                slot.error = Some(error);
            }
            // The handshake is over: the connection enters the accept queue.
            if event == Event::Connected && slot.passive == Some(Passive::HalfOpen) {
                slot.passive = Some(Passive::Complete);
                if let Some(listening) = &mut self.listening {
                    listening.complete(id);
                }
            }
            if event == Event::Writable {
                slot.writable_pending = true;
            } else if !slot.released && slot.passive.is_none() {
                self.events.push_back((id, event));
            }
        }
        if slot.writable_pending && has_write_space(slot.stream.connection()) {
            slot.writable_pending = false;
            self.events.push_back((id, Event::Writable));
        }
        let unowned = slot.released || slot.passive.is_some();
        match slot.stream.connection().state() {
            State::Closed if unowned => return self.remove(key),
            State::FinWait2 if slot.released => {
                slot.orphan_until.get_or_insert(now + ORPHAN);
            }
            _ => {}
        }
        self.schedule(key);
    }
}
