//! Everything that one host does about its sessions, without I/O: it registers with rendezvous
//! servers, introduces itself to other hosts, finds paths with ICE and relays, and keeps them.
//!
//! The caller passes in datagrams and the time, and takes out datagrams and events. It drives the
//! [`Endpoint`](crate::Endpoint) of the same port beside the host:
//!
//! - [`Event::Opened`] and [`Event::Closed`]: open and close the session at the endpoint.
//! - [`Event::PathFound`]: call [`path_found`](crate::Endpoint::path_found).
//! - [`Event::PathChanged`]: call [`path_changed`](crate::Endpoint::path_changed).
//! - With both: call [`path_replaced`](crate::Endpoint::path_replaced) before, if the session
//!   [is on another path](Host::is_on_new_path) than it was.
//! - A datagram to a virtual peer address goes where [`Host::route`] says.

mod arrivals;
mod introductions;
mod relays;
mod timers;

use super::ice::{self, Clock, Ice};
use super::offer::CandidateType;
use super::one_session::{Session, SessionState};
use super::relay::Relay;
use super::server::{Channel, Server};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use windlass_base::{Span, Time};
use windlass_identity::{PublicKey, SecretKey};

/// The largest number of sessions of one host.
const SESSIONS_MAX: usize = 4096;

/// Which hosts may open sessions with this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    /// No host: this one only opens sessions itself.
    #[default]
    NoHost,
    /// The hosts with these keys.
    Keys(BTreeSet<PublicKey>),
    /// Any host. Whoever knows this host's key can then open a session.
    Anyone,
}

impl Allow {
    /// Whether the host with this key may open a session.
    pub fn admits(&self, key: &PublicKey) -> bool {
        match self {
            Allow::NoHost => false,
            Allow::Keys(keys) => keys.contains(key),
            Allow::Anyone => true,
        }
    }
}

/// A source of random bytes: the system's, or a seeded one in simulations.
pub type Randomness = Box<dyn FnMut(&mut [u8]) + Send>;

/// The system's choice of a source address for a destination.
type SourceFor = Box<dyn Fn(IpAddr) -> Option<IpAddr> + Send>;

/// Settings of a [`Host`].
pub struct HostConfig {
    /// The host's identity.
    pub key: SecretKey,
    /// Identifies this installation, so that a restarted host may register its key again.
    pub instance: [u8; 16],
    /// The hosts that may open sessions with this one. If there are any, the host registers its key.
    pub allow: Allow,
    /// Use relays only, and do not reveal this host's addresses to peers.
    pub relay_only: bool,
    /// How long a session with connections is kept without a path.
    pub outage_max: Span,
    /// Random bytes for credentials and tags.
    pub random: Randomness,
    /// The address from which the system sends to a destination; `None` if any may be right.
    pub source_for: SourceFor,
}

impl fmt::Debug for HostConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostConfig").field("allow", &self.allow).finish_non_exhaustive()
    }
}

/// A datagram, or bytes of a stream, to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// How to send it.
    pub channel: Channel,
    /// The address to send from; `None` leaves it to the system.
    pub local: Option<IpAddr>,
    /// The destination.
    pub to: SocketAddr,
    /// The contents.
    pub bytes: Vec<u8>,
    /// The time to live to send it with; `None` for the system's default. A short one lets the
    /// datagram pass this host's own NAT, where it opens the way for those of the peer, and end at the
    /// next router.
    pub ttl: Option<u8>,
}

impl Outgoing {
    /// A datagram whose source address the system chooses.
    pub(crate) fn plain(channel: Channel, to: SocketAddr, bytes: Vec<u8>) -> Outgoing {
        Outgoing { channel, local: None, to, bytes, ttl: None }
    }
}

/// Where the datagrams of a session go now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the peer, from an address of this host.
    Direct {
        /// The address of this host.
        local: IpAddr,
        /// The address of the peer.
        peer: SocketAddr,
    },
    /// Through a relay: [`Host::wrap`] makes the datagrams for it.
    Relayed,
}

/// Why a session ended, or could not begin.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// No rendezvous answers.
    NoRendezvous,
    /// The rendezvous does not know the peer's key.
    NotRegistered,
    /// The peer does not allow this host's key.
    NotAllowed,
    /// The peer is registered and does not answer.
    NoAnswer,
    /// Neither a direct path nor a relay works.
    NoPath,
    /// The path was lost, and no other one was found.
    Lost,
    /// This host closed the session.
    Closed,
    /// The rendezvous or the peer refused, with this error code of STUN.
    Refused(u16),
    /// The rendezvous has another key than the user named.
    WrongKey {
        /// The key that the user named.
        expected: PublicKey,
        /// The key of the rendezvous.
        found: PublicKey,
    },
    /// The key is that of this host itself.
    OwnKey,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::NoRendezvous => f.write_str("the rendezvous does not answer"),
            CloseReason::NotRegistered => {
                f.write_str("no host with this key is registered at the rendezvous")
            }
            CloseReason::NotAllowed => f.write_str("the peer does not allow this host's key"),
            CloseReason::NoAnswer => f.write_str("the peer is registered and does not answer"),
            CloseReason::NoPath => {
                f.write_str("no path to the peer: neither direct nor through a relay")
            }
            CloseReason::Lost => f.write_str("the path to the peer was lost"),
            CloseReason::Closed => f.write_str("the session was closed"),
            CloseReason::Refused(code) => write!(f, "refused with error {code}"),
            CloseReason::WrongKey { expected, found } => {
                write!(f, "the rendezvous has the key {found}, expected {expected}")
            }
            CloseReason::OwnKey => {
                f.write_str("this is the key of this host itself; name the key of another host")
            }
        }
    }
}

impl std::error::Error for CloseReason {}

/// A report of the host to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A session begins, which this host asked for or accepts.
    Opened {
        /// Identifies the session.
        tag: u32,
        /// The other host.
        peer: PublicKey,
        /// This host asked for it.
        asked: bool,
    },
    /// The session has a path, and had none before.
    PathFound {
        /// Identifies the session.
        tag: u32,
    },
    /// The session has another path.
    PathChanged {
        /// Identifies the session.
        tag: u32,
    },
    /// The session has no path now. The host looks for another one.
    PathLost {
        /// Identifies the session.
        tag: u32,
    },
    /// The session is over.
    Closed {
        /// Identifies the session.
        tag: u32,
        /// The reason.
        reason: CloseReason,
    },
    /// The rendezvous has registered this host's key.
    Registered {
        /// The rendezvous, in the order of [`Host::add_rendezvous`].
        server: usize,
        /// The address of this host as the rendezvous sees it.
        mapped: SocketAddr,
    },
    /// The rendezvous refuses to register this host's key.
    RegistrationRefused {
        /// The rendezvous.
        server: usize,
        /// 403: the signature is wrong; 409: another host has registered this key.
        code: u16,
    },
    /// The rendezvous has another key than the user named. This host does not use it, and tries it
    /// again from time to time.
    WrongKey {
        /// The rendezvous.
        server: usize,
        /// The key that the user named.
        expected: PublicKey,
        /// The key of the rendezvous.
        found: PublicKey,
    },
    /// The rendezvous does not answer over UDP. The caller may connect to it with TLS and call
    /// [`Host::stream_opened`].
    Silent {
        /// The rendezvous.
        server: usize,
    },
    /// This host does not use a stream to the rendezvous any more. The caller closes it.
    StreamUnneeded {
        /// The stream.
        stream: usize,
    },
    /// A host asked for a session and was refused, because its key is not allowed.
    NotAllowed {
        /// The host's key.
        peer: PublicKey,
    },
}

/// A session as users see it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Identifies the session.
    pub tag: u32,
    /// The other host.
    pub peer: PublicKey,
    /// This host asked for the session.
    pub asked: bool,
    /// Where it stands.
    pub state: SessionState,
    /// The addresses that datagrams travel between; of this host the address of its relay, if it
    /// uses one.
    pub path: Option<(SocketAddr, SocketAddr)>,
    /// Datagrams pass a relay of this host or of the peer.
    pub relayed: bool,
    /// The round trip of the last check of the path.
    pub round_trip: Option<Duration>,
    /// This host's candidates.
    pub local: Vec<(CandidateType, SocketAddr)>,
    /// The peer's candidates.
    pub remote: Vec<(CandidateType, SocketAddr)>,
}

/// The sessions of one UDP port, without I/O.
pub struct Host {
    config: HostConfig,
    clock: Clock,
    /// The UDP port of this host's addresses.
    port: u16,
    local: BTreeSet<IpAddr>,
    servers: Vec<Server>,
    relays: Vec<Relay>,
    /// The streams that the caller has opened, with the number of the server.
    streams: BTreeMap<usize, usize>,
    sessions: BTreeMap<u32, Session>,
    transmits: VecDeque<Outgoing>,
    /// Checks that are held back, in the order of their times.
    held: VecDeque<(Time, Outgoing)>,
    events: VecDeque<Event>,
    /// When relays were last needed.
    relays_used: Time,
    /// When a server may be asked for a relay again.
    relays_retry: Time,
    /// When the next timer is due.
    deadline: Option<Time>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Host");
        shown.field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl Host {
    /// A host whose datagrams leave from UDP port `port`.
    pub fn new(config: HostConfig, port: u16) -> Host {
        Host {
            config,
            clock: Clock::new(),
            port,
            local: BTreeSet::new(),
            servers: Vec::new(),
            relays: Vec::new(),
            streams: BTreeMap::new(),
            sessions: BTreeMap::new(),
            transmits: VecDeque::new(),
            held: VecDeque::new(),
            events: VecDeque::new(),
            relays_used: Time::ZERO,
            relays_retry: Time::ZERO,
            deadline: None,
        }
    }

    /// This host's public key.
    pub fn public_key(&self) -> PublicKey {
        self.config.key.public_key()
    }

    /// Adds a rendezvous at a UDP address. Returns its number. With a key, the rendezvous must prove
    /// that it has it; over a stream the caller verifies it. An unspecified address means that none
    /// is known yet: nothing is sent to it.
    pub fn add_rendezvous(
        &mut self,
        now: Time,
        address: SocketAddr,
        key: Option<PublicKey>,
    ) -> usize {
        let publish = self.config.allow != Allow::NoHost;
        let mut seed = [0; 8];
        (self.config.random)(&mut seed);
        let identity = (&self.config.key, self.config.instance);
        let seed = u64::from_be_bytes(seed);
        self.servers.push(Server::new(now, identity, (address, key), publish, seed));
        self.handle_timeout(now);
        self.servers.len() - 1
    }

    /// The name of a rendezvous stands for another address now.
    pub(crate) fn rendezvous_moved(&mut self, now: Time, server: usize, address: SocketAddr) {
        self.servers[server].move_to(now, address);
        self.handle_timeout(now);
    }

    /// No stream to a rendezvous could be opened.
    pub fn stream_failed(&mut self, now: Time, server: usize) {
        self.servers[server].note_unreachable();
        self.update(now);
    }

    /// A rendezvous has shown another key than the expected one, over a stream.
    pub(crate) fn wrong_key_found(&mut self, now: Time, server: usize, found: PublicKey) {
        self.servers[server].note_wrong_key(found);
        self.take_server_events(now, server);
        self.update(now);
    }

    /// Whether a rendezvous has answered, and has not been silent since.
    ///
    /// # Panics
    /// If there is no rendezvous with this number.
    pub(crate) fn rendezvous_answers(&self, server: usize) -> bool {
        self.servers[server].answers()
    }

    /// A stream to the rendezvous is open. From now on it carries everything for this server, until
    /// UDP works. If it works already, [`Event::StreamUnneeded`] follows at once.
    pub fn stream_opened(&mut self, now: Time, server: usize, stream: usize) {
        self.streams.insert(stream, server);
        if !self.servers[server].answers() {
            self.servers[server].use_channel(now, Channel::Stream(stream));
        }
        self.handle_timeout(now);
    }

    /// A stream has ended. The host tries UDP again.
    pub fn stream_closed(&mut self, now: Time, server: usize, stream: usize) {
        self.streams.remove(&stream);
        self.relays.retain(|relay| relay.service().channel != Channel::Stream(stream));
        if self.servers[server].channel() == Channel::Stream(stream) {
            self.servers[server].use_channel(now, Channel::Udp);
        }
        self.handle_timeout(now);
    }

    /// Sets this host's addresses. Sessions add the new ones to their candidates, and stop using
    /// those that are gone.
    pub fn set_addresses(&mut self, now: Time, addresses: impl IntoIterator<Item = IpAddr>) {
        let addresses: BTreeSet<_> = addresses.into_iter().collect();
        if addresses == self.local {
            return;
        }
        let lost: Vec<_> = self.local.difference(&addresses).copied().collect();
        let added: Vec<_> = addresses.difference(&self.local).copied().collect();
        self.local = addresses;
        for session in self.sessions.values_mut() {
            for ip in &lost {
                session.ice.remove_local(*ip);
            }
            for ip in added.iter().filter(|_| !self.config.relay_only) {
                session.searching().add_local((*ip, self.port).into());
                session.note_news(now);
            }
            session.handle_timeout(now);
        }
        for index in 0..self.servers.len() {
            match self.servers[index].channel() {
                // The server sees another address now.
                Channel::Udp => self.servers[index].refresh(now),
                // The stream may have had an address that is gone. UDP may work from the new one.
                Channel::Stream(_) if !lost.is_empty() => {
                    self.servers[index].use_channel(now, Channel::Udp);
                    self.events.push_back(Event::Silent { server: index });
                }
                Channel::Stream(_) => {}
            }
        }
        self.update(now);
    }

    /// Opens a session with the host that has this key. [`Event::Opened`] follows at once,
    /// [`Event::PathFound`] when datagrams can travel.
    ///
    /// # Errors
    /// [`CloseReason::NoRendezvous`] if there is no rendezvous, or too many sessions are open;
    /// [`CloseReason::OwnKey`] if the key is this host's.
    pub fn connect(&mut self, now: Time, peer: PublicKey) -> Result<u32, CloseReason> {
        if peer == self.public_key() {
            return Err(CloseReason::OwnKey);
        }
        if self.servers.is_empty() || self.sessions.len() >= SESSIONS_MAX {
            return Err(CloseReason::NoRendezvous);
        }
        let mut tag = [0; 4];
        (self.config.random)(&mut tag);
        let mut tag = u32::from_be_bytes(tag);
        while self.sessions.contains_key(&tag) {
            tag = tag.wrapping_add(1);
        }
        self.ask(now, tag, peer);
        self.events.push_back(Event::Opened { tag, peer, asked: true });
        self.update(now);
        Ok(tag)
    }

    /// Closes a session.
    pub fn close(&mut self, now: Time, tag: u32) {
        self.end(tag, CloseReason::Closed);
        self.update(now);
    }

    /// A number for a new connection of the session, which no other one of it has.
    pub fn take_number(&mut self, tag: u32) -> Option<u32> {
        self.sessions.get_mut(&tag).map(Session::take_number)
    }

    /// The other host of the session `tag`.
    pub fn peer(&self, tag: u32) -> Option<PublicKey> {
        self.sessions.get(&tag).map(|session| session.peer)
    }

    /// Where the session's datagrams go; `None` while it has no path.
    pub fn route(&self, tag: u32) -> Option<Route> {
        let pair = self.sessions.get(&tag)?.route()?;
        let direct = self.local.contains(&pair.local.ip()) && pair.local.port() == self.port;
        Some(match direct {
            true => Route::Direct { local: pair.local.ip(), peer: pair.remote },
            false => Route::Relayed,
        })
    }

    /// Whether the session's path is another one than its last one. A path of which only ports have
    /// changed is the same: a NAT has given out others (RFC 9000 §9.4).
    pub fn is_on_new_path(&self, tag: u32) -> bool {
        self.sessions.get(&tag).is_some_and(|session| session.is_on_new_path)
    }

    /// The session `tag` as users see it.
    pub fn info(&self, tag: u32) -> Option<SessionInfo> {
        let session = self.sessions.get(&tag)?;
        let pair = session.path;
        let (local, remote) = session.ice.candidates();
        let shown = |sent: Vec<super::offer::Sent>| {
            sent.into_iter().map(|one| (one.kind, one.address)).collect()
        };
        Some(SessionInfo {
            tag,
            peer: session.peer,
            asked: session.asked,
            state: session.state,
            path: pair.map(|pair| (pair.local, pair.remote)),
            relayed: pair.is_some_and(|pair| self.is_relayed(session, pair)),
            round_trip: session.ice.round_trip(),
            local: shown(local),
            remote: shown(remote),
        })
    }

    /// The address of a rendezvous.
    ///
    /// # Panics
    /// If there is no rendezvous with this number.
    pub fn server_address(&self, server: usize) -> SocketAddr {
        self.servers[server].address()
    }

    /// The tags of all sessions.
    pub fn tags(&self) -> Vec<u32> {
        self.sessions.keys().copied().collect()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A new agent with this host's candidates.
    fn new_ice(&mut self, controlling: bool) -> Ice {
        let (mut random, mut tie) = ([0; 32], [0; 8]);
        (self.config.random)(&mut random);
        (self.config.random)(&mut tie);
        let tie = u64::from_be_bytes(tie);
        let mut ice = Ice::new(self.clock, controlling, ice::credentials(random), tie);
        if !self.config.relay_only {
            for ip in &self.local {
                ice.add_local((*ip, self.port).into());
            }
            for server in &self.servers {
                self.add_reflexive(&mut ice, server);
            }
        }
        for relay in self.relays.iter().filter(|relay| self.is_current(relay)) {
            if let Some(address) = relay.address() {
                ice.add_relayed(address, relay.service().local);
            }
        }
        ice
    }

    /// Adds this host's address as `server` sees it over UDP.
    fn add_reflexive(&self, ice: &mut Ice, server: &Server) {
        let Some(mapped) = server.mapped().filter(|_| server.channel() == Channel::Udp) else {
            return;
        };
        if let Some(base) = self.base_for(server.address()) {
            ice.add_reflexive(mapped, base);
        }
    }

    /// The address of this host from which it sends to `remote`.
    fn base_for(&self, remote: SocketAddr) -> Option<SocketAddr> {
        let remote = remote.ip().to_canonical();
        let chosen = (self.config.source_for)(remote).filter(|ip| self.local.contains(ip));
        let same_family = |ip: &&IpAddr| ip.is_ipv4() == remote.is_ipv4();
        let any = || self.local.iter().find(same_family).copied();
        chosen.or_else(any).map(|ip| (ip, self.port).into())
    }

    /// Whether the system would choose this address of the host for the destination. From another
    /// address, such as that of a bridge to containers, packets leave by the same interface, and the
    /// NAT there gives the two addresses different ports: the peer would see neither where this host
    /// announced it.
    fn is_source_for(&self, local: IpAddr, remote: IpAddr) -> bool {
        let chosen = (self.config.source_for)(remote.to_canonical());
        chosen.is_none_or(|chosen| chosen == local || !self.local.contains(&chosen))
    }
}
