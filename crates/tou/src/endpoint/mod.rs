//! One UDP port and the connections over it, without any I/O.
//!
//! Datagrams and the time go in, datagrams and events come out, as with the engine's own
//! [`Connection`]: change it, drain [`Endpoint::poll_transmit`] and
//! [`Endpoint::poll_event`], and call [`Endpoint::handle_timeout`] when [`Endpoint::poll_timeout`]
//! says. The same code runs over a socket and in virtual time.

mod budget;
mod cookie;
mod deadlines;
mod incoming;
mod listen;
mod memory;
mod outgoing;
mod path_mtu;
mod receive_buffer;
mod released;
mod secret;
#[cfg(test)]
mod tests;

pub(crate) use deadlines::Deadlines;
pub use listen::ListenError;
pub use outgoing::Datagrams;

use crate::wire;
use budget::Budget;
use listen::Listening;
use path_mtu::PathMtu;
use receive_buffer::{Share, SharedReceiveBuffer};
use secret::Secret;
use slab::Slab;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::{error, fmt};
use windlass_base::{Span, Time};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Config, Connection, Error, Event, Segment, State};

/// How long a peer may stay silent that has had the FIN of a connection which the application has
/// left (Linux's tcp_fin_timeout).
const ORPHAN: Span = Span::from_secs(60);

/// Limits of an endpoint.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once, those in TIME-WAIT included.
    pub connections: usize,
    /// Bytes that the buffers of all connections take, or would if all peers used their windows: an
    /// idle one counts for about 30 KB. Beyond it no connection begins, and those there are
    /// get no larger buffers: windows grow no more, and who writes waits. The last one to
    /// grow may go beyond it by a buffer of its own.
    pub memory: u64,
    /// Answers per second to datagrams that belong to no connection: resets and SYN cookies.
    pub replies_per_s: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1 << 16, memory: 4 << 30, replies_per_s: 50_000 }
    }
}

/// What came and went, in datagrams.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Came.
    pub received: u64,
    /// Came and were neither ToU nor STUN.
    pub unknown: u64,
    /// Came with ToU's cookie and were no segment of this version.
    pub malformed: u64,
    /// Came and were STUN.
    pub stun: u64,
    /// Segments for no connection, that no SYN began.
    pub strays: u64,
    /// SYNs that no listener waited for.
    pub refused: u64,
    /// SYNs, and ACKs of cookies, that were not heard since too many connections waited.
    pub overflowed: u64,
    /// SYNs answered by a cookie.
    pub cookies_sent: u64,
    /// Connections made from a cookie.
    pub cookies_redeemed: u64,
    /// Resets for what belongs to no connection.
    pub resets: u64,
    /// Answers not given since the budget was used up.
    pub unanswered: u64,
    /// Went.
    pub sent: u64,
    /// Went, and the socket refused them: lost, for the connection.
    pub unsent: u64,
}

/// Names a connection of an endpoint; none has the name of an earlier one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    key: usize,
    serial: u64,
}

/// Why no connection was begun.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is one with this peer already.
    Exists,
    /// [`Limits::connections`] or [`Limits::memory`] is reached.
    TooMany,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConnectError::Exists => "this port has a connection with that peer already",
            ConnectError::TooMany => "this port has as many connections as it may",
        })
    }
}

impl error::Error for ConnectError {}

/// A connection, and what the endpoint knows of it.
struct Slot<Data> {
    serial: u64,
    peer: SocketAddr,
    stream: Stream,
    /// From the end of the handshake on.
    path_mtu: Option<PathMtu>,
    /// Waits in [`Endpoint::ready`].
    queued: bool,
    /// The earliest entry among the deadlines.
    timer_at: Option<Time>,
    /// Of the socket's receive buffer.
    share: Share,
    /// There is room to write, which is told when it is worth it.
    writable_pending: bool,
    /// Bytes that its buffers take, and whether they may take more.
    memory: u64,
    growth_held: bool,
    /// Came by a SYN and has not been accepted.
    passive: Option<Passive>,
    /// The application wants to hear nothing more of it.
    released: bool,
    /// Released, and its peer has had all and says nothing: it goes then.
    orphan_until: Option<Time>,
    error: Option<Error>,
    data: Data,
}

impl<Data> Slot<Data> {
    /// In TIME-WAIT or closed, and there is nothing to read any more.
    fn is_over(&self) -> bool {
        let connection = self.stream.connection();
        matches!(connection.state(), State::TimeWait | State::Closed)
            && (self.released || connection.readable() == 0)
    }
}

/// A third of the buffer, as Linux's `sk_stream_write_space` has it: who writes is not woken by each
/// ACK.
fn has_write_space(connection: &Connection) -> bool {
    3 * connection.writable() >= connection.send_buffer()
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Passive {
    HalfOpen,
    Complete,
}

/// One UDP port and the connections over it. `Data` is what its user keeps with each.
pub struct Endpoint<Data = ()> {
    limits: Limits,
    secret: Secret,
    budget: Budget,
    receive_buffer: SharedReceiveBuffer,
    memory: u64,
    slots: Slab<Slot<Data>>,
    peers: HashMap<SocketAddr, usize>,
    /// The connection that the last segment was for.
    recent: usize,
    next_serial: u64,
    /// Connections that may have something to send.
    ready: VecDeque<usize>,
    /// Answers for no connection.
    replies: VecDeque<(SocketAddr, Segment)>,
    deadlines: Deadlines<(usize, u64)>,
    events: VecDeque<(ConnectionId, Event)>,
    listening: Option<Listening>,
    stun: VecDeque<(SocketAddr, Box<[u8]>)>,
    counters: Counters,
}

impl<Data> fmt::Debug for Endpoint<Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Endpoint");
        shown.field("connections", &self.slots.len()).field("counters", &self.counters);
        shown.finish_non_exhaustive()
    }
}

/// Making one, and what is known of it.
impl<Data: Default> Endpoint<Data> {
    /// `key` is random and known to nobody else.
    pub fn new(limits: Limits, key: [u8; 16]) -> Endpoint<Data> {
        Endpoint {
            limits,
            secret: Secret::new(key),
            budget: Budget::new(limits.replies_per_s),
            receive_buffer: SharedReceiveBuffer::unlimited(),
            memory: 0,
            slots: Slab::new(),
            peers: HashMap::new(),
            recent: 0,
            next_serial: 0,
            ready: VecDeque::new(),
            replies: VecDeque::new(),
            deadlines: Deadlines::default(),
            events: VecDeque::new(),
            listening: None,
            stun: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Counters since the beginning.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the socket's receive buffer holds of payload: windows are announced to fit into it.
    pub(crate) fn set_receive_buffer(&mut self, bytes: u64) {
        self.receive_buffer.set_bytes(bytes);
    }

    /// What it would have to hold so that nobody's window is small.
    pub(crate) fn wanted_receive_buffer(&self) -> u64 {
        self.receive_buffer.wanted_bytes()
    }

    /// The socket refused these.
    pub(crate) fn count_unsent(&mut self, datagrams: &Datagrams) {
        self.counters.unsent += datagrams.len.div_ceil(datagrams.size.max(1)) as u64;
    }

    /// Connections, whatever their state.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True without any connection.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// A STUN message that came, and from where: those not asked for are dropped after a while.
    pub fn poll_stun(&mut self) -> Option<(SocketAddr, Box<[u8]>)> {
        self.stun.pop_front()
    }
}

/// Connections.
impl<Data: Default> Endpoint<Data> {
    /// Begins a connection: a SYN is the first thing to transmit. If the peer does the same, both
    /// SYNs make one connection (RFC 9293 §3.5).
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(
        &mut self,
        now: Time,
        peer: SocketAddr,
        config: Config,
    ) -> Result<ConnectionId, ConnectError> {
        if let Some(key) = self.peers.get(&peer) {
            if !self.slots[*key].is_over() {
                return Err(ConnectError::Exists);
            }
            // RFC 9293 §3.6.1: the new sequence numbers begin beyond the old ones.
            self.remove(*key);
        }
        if self.slots.len() >= self.limits.connections || self.is_short_of_memory() {
            return Err(ConnectError::TooMany);
        }
        let isn = self.secret.initial_sequence_number(now, peer);
        let connection = Connection::connect(config, now, isn);
        let key = self.insert(peer, connection, None);
        self.touch(key);
        Ok(self.id_of(key))
    }

    /// The bytes of a connection; `None` if it is no more.
    pub fn stream(&self, id: ConnectionId) -> Option<&Stream> {
        self.slot(id).map(|slot| &slot.stream)
    }

    /// The same, to change it: it may have something to send then.
    pub fn stream_mut(&mut self, id: ConnectionId) -> Option<&mut Stream> {
        self.slot(id)?;
        self.limit_growth(id.key);
        self.touch(id.key);
        Some(&mut self.slots[id.key].stream)
    }

    /// What its user keeps with a connection.
    pub fn data_mut(&mut self, id: ConnectionId) -> Option<&mut Data> {
        self.slot(id)?;
        Some(&mut self.slots[id.key].data)
    }

    /// The other end.
    pub fn peer(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.slot(id).map(|slot| slot.peer)
    }

    /// Why a connection failed; `None` as long as it has not.
    pub fn error(&self, id: ConnectionId) -> Option<Error> {
        self.slot(id)?.error
    }

    /// The application is done with a connection: what it wrote is still sent, then FIN. Data that
    /// it has not read, or that comes later, resets the connection (RFC 2525 §2.17).
    pub fn release(&mut self, now: Time, id: ConnectionId) {
        if self.slot(id).is_none() {
            return;
        }
        let slot = &mut self.slots[id.key];
        slot.released = true;
        let unread = slot.stream.connection().readable() > 0;
        let connection = slot.stream.connection_mut();
        if unread {
            connection.abort();
        } else {
            connection.close(now);
        }
        self.touch(id.key);
    }

    /// The network reported that a datagram to `peer` was not delivered, and has `quoted` so much of
    /// it. A connection that is being opened fails (RFC 9293 §3.9.2.2), and is returned; others go
    /// on; but one that only waits for the ACK of its FIN, and nobody is there any more, is over.
    pub fn handle_unreachable(
        &mut self,
        peer: SocketAddr,
        error: Error,
        quoted: &[u8],
    ) -> Option<ConnectionId> {
        let key = *self.peers.get(&peer)?;
        let slot = &mut self.slots[key];
        let connection = slot.stream.connection_mut();
        // Who forges one has to know the SYN (RFC 5927 §4.1). Some routers quote nothing of it.
        let quoted = wire::parse(quoted).ok();
        let forged = quoted.is_some_and(|(segment, _)| !connection.began_with(segment.seq));
        let fails = connection.state() == State::SynSent && !forged;
        if fails {
            connection.fail_opening(error);
        }
        let all_arrived = connection.bytes_acked() == connection.bytes_written();
        let fin_only = slot.released && connection.peer_closed() && all_arrived;
        if fin_only && error == Error::Refused {
            connection.abort();
        }
        self.touch(key);
        fails.then(|| self.id_of(key))
    }

    /// The next event of any connection. A connection that is released tells no more.
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        self.events.pop_front()
    }

    /// When [`Endpoint::handle_timeout`] wants to be called; `None`: never, as things stand. It may
    /// be too early, never too late.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadlines.next()
    }

    /// The time that [`Endpoint::poll_timeout`] told has come.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((entered, (key, serial))) = self.deadlines.pop(now) {
            let Some(slot) = self.slots.get_mut(key).filter(|slot| slot.serial == serial) else {
                continue;
            };
            if slot.timer_at == Some(entered) {
                slot.timer_at = None;
            }
            let connection = slot.stream.connection_mut();
            if slot.orphan_until.is_some_and(|until| until <= now) {
                connection.abort();
                self.touch(key);
            } else if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now, &mut ());
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
        peer: SocketAddr,
        mut connection: Connection,
        passive: Option<Passive>,
    ) -> usize {
        self.receive_buffer.limit_initial_window(&mut connection);
        let serial = self.next_serial;
        self.next_serial += 1;
        let key = self.slots.insert(Slot {
            serial,
            peer,
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
            error: None,
            data: Data::default(),
        });
        self.peers.insert(peer, key);
        key
    }

    fn remove(&mut self, key: usize) {
        let slot = self.slots.remove(key);
        self.memory -= slot.memory;
        self.peers.remove(&slot.peer);
        if let Some(passive) = slot.passive
            && let Some(listening) = &mut self.listening
        {
            listening.forget(passive, ConnectionId { key, serial: slot.serial });
        }
    }

    /// It may have something to send, something to tell, another deadline.
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

    /// A connection that has nothing to send now: its events are told, and if it is over and
    /// nobody has it, it goes.
    fn settle(&mut self, now: Time, key: usize) {
        self.account(key);
        let id = self.id_of(key);
        let slot = &mut self.slots[key];
        let connection = slot.stream.connection_mut();
        if slot.released && connection.readable() > 0 && connection.state() != State::Closed {
            // The reset goes out in the next round.
            connection.abort();
            return self.touch(key);
        }
        while let Some(event) = slot.stream.connection_mut().poll_event() {
            if let Event::Failed(error) = event {
                slot.error = Some(error);
            }
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
