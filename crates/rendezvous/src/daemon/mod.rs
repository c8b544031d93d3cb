//! The rendezvous as a daemon: the [server](crate::server) with its sockets. One thread serves all.

mod clock;
mod frames;
mod handle;
mod metrics;
mod relays;
mod source;
mod stream;
mod streams;
mod tls;
mod udp;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use mio::{Events, Interest, Poll};
use ring::digest;
use windlass_base::special::Prefix;
use windlass_base::{Rng, Span, Time};
use windlass_identity::{PublicKey, SecretKey};

use crate::own_addresses;
use crate::server::{Config, Limits, Path, PeerPolicy, RelayRequest, Server, Transmit};
use clock::Clock;
use handle::Requests;
use relays::Relays;
use source::Source;
use streams::Streams;
use tls::Tls;
use udp::Sockets;

pub use handle::{Handle, serve_metrics};
pub use metrics::Figures;
pub use relays::RelayOptions;
pub use streams::StreamLimits;
pub use tls::Certificate;

/// Receive calls to one UDP socket before the others get their turn.
const TURN: usize = 8;
/// Events per call to the system.
const EVENTS: usize = 1024;
/// How often silent streams are closed.
const SWEEP: Span = Span::from_secs(5);

/// Settings of a [`Daemon`]. Start from [`Options::new`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Options {
    /// The key that hosts know this server by.
    pub key: SecretKey,
    /// Where UDP is served, and TCP unless `tcp` is false.
    pub listen: Vec<SocketAddr>,
    /// A second address of this host, for NAT behaviour discovery (RFC 5780): it and the first
    /// address of `listen` are served at the port and the one after it.
    pub alternate: Option<IpAddr>,
    /// Whether TCP is served where UDP is.
    pub tcp: bool,
    /// Where TLS over TCP is served.
    pub tls: Vec<SocketAddr>,
    /// For clients that take no raw public key.
    pub certificate: Option<Certificate>,
    /// The relay, if there is to be one, and the peers that it sends to.
    pub relay: Option<(RelayOptions, PeerPolicy)>,
    /// Networks of special addresses, and own addresses, that the relay sends to as well.
    pub relay_peers: Vec<Prefix>,
    /// The realm of the relay's credentials.
    pub realm: String,
    /// Bounds of the server's state.
    pub limits: Limits,
    /// Bounds on streams.
    pub stream_limits: StreamLimits,
}

impl Options {
    /// UDP and TCP at `listen`, with a relay to public addresses.
    pub fn new(key: SecretKey, listen: Vec<SocketAddr>) -> Options {
        Options {
            key,
            listen,
            alternate: None,
            tcp: true,
            tls: Vec::new(),
            certificate: None,
            relay: Some((RelayOptions::default(), PeerPolicy::Public)),
            relay_peers: Vec::new(),
            realm: "windlass".to_owned(),
            limits: Limits::default(),
            stream_limits: StreamLimits::default(),
        }
    }
}

/// Why a [`Daemon`] cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// An address cannot be listened at.
    Listen(&'static str, SocketAddr, io::Error),
    /// The alternate address does not go with the first address to listen at.
    Alternate(&'static str),
    /// The certificate or its key cannot be used.
    Tls(rustls::Error),
    /// The system has no events or no randomness.
    System(io::Error),
}

impl std::fmt::Display for BindError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BindError::Listen(protocol, address, error) => {
                write!(f, "{protocol} at {address}: {error}")
            }
            BindError::Alternate(why) => write!(f, "the alternate address: {why}"),
            BindError::Tls(error) => write!(f, "the certificate: {error}"),
            BindError::System(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for BindError {}

/// Where a [`Daemon`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Addresses {
    /// Of the UDP sockets.
    pub udp: Vec<SocketAddr>,
    /// Of the TCP listeners.
    pub tcp: Vec<SocketAddr>,
    /// TLS over TCP.
    pub tls: Vec<SocketAddr>,
    /// Relayed addresses.
    pub relay: Vec<IpAddr>,
}

/// A rendezvous with its sockets, bound but not yet served.
pub struct Daemon {
    key: PublicKey,
    poll: Poll,
    events: Events,
    clock: Clock,
    server: Server,
    sockets: Sockets,
    relays: Option<Relays>,
    streams: Streams,
    /// Sources that may have more to read.
    pending: BTreeSet<Source>,
    handle: Handle,
    requests: Requests,
    next_sweep: Time,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("addresses", &self.addresses()).finish_non_exhaustive()
    }
}

impl Daemon {
    /// Binds the sockets.
    ///
    /// # Errors
    ///
    /// [`BindError`] says what cannot be had.
    pub fn bind(options: Options) -> Result<Daemon, BindError> {
        raise_file_limit();
        let poll = Poll::new().map_err(BindError::System)?;
        let (handle, requests) = handle::pair(poll.registry()).map_err(BindError::System)?;
        let key = options.key.public_key();
        let secret = derive_secret(&options.key);
        let mut rng = Rng::new(random_seed().map_err(BindError::System)?);
        let mut sockets = bind_udp(&options)?;
        let mut streams = Streams::new(options.stream_limits, secret);
        let tls = Tls::new(&options.key, options.certificate).map_err(BindError::Tls)?;
        if options.tcp {
            let plain = sockets.addresses().into_iter().map(|address| ("TCP", address, None));
            listen(&mut streams, plain)?;
        }
        let secure = options.tls.into_iter().map(|address| ("TLS", address, Some(tls.clone())));
        listen(&mut streams, secure)?;
        let mut config = Config::new(secret);
        config.key = Some(options.key.clone());
        config.realm = options.realm;
        config.limits = options.limits;
        config.alternate =
            options.alternate.and_then(|_| sockets.addresses().first_chunk::<4>().copied());
        config.relay = options.relay.as_ref().map(|(_, policy)| *policy);
        config.relay_peers = options.relay_peers;
        let relays = options
            .relay
            .map(|(relay, _)| Relays::new(relay, &options.listen, Rng::new(rng.bits())));
        register(&poll, &mut sockets, &mut streams).map_err(BindError::System)?;
        let clock = Clock::new();
        let mut daemon = Daemon {
            key,
            poll,
            events: Events::with_capacity(EVENTS),
            next_sweep: clock.now(),
            clock,
            server: Server::new(config, rng),
            sockets,
            relays,
            streams,
            pending: BTreeSet::new(),
            handle,
            requests,
        };
        daemon.note_own_addresses();
        Ok(daemon)
    }

    /// The relay must not lead to this host. Its addresses may change while it serves; those that it
    /// was given may be those of a NAT before it.
    fn note_own_addresses(&mut self) {
        let addresses = self.addresses();
        let listening = [addresses.udp, addresses.tcp, addresses.tls].concat();
        let listening = listening.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified());
        self.server
            .set_own_addresses(own_addresses().into_iter().chain(addresses.relay).chain(listening));
    }

    /// Where the daemon is.
    pub fn addresses(&self) -> Addresses {
        Addresses {
            udp: self.sockets.addresses(),
            tcp: self.streams.addresses(false),
            tls: self.streams.addresses(true),
            relay: self.relays.as_ref().map_or(Vec::new(), |relays| relays.addresses().to_vec()),
        }
    }

    /// The key that hosts know this server by.
    pub fn public_key(&self) -> PublicKey {
        self.key
    }

    /// To ask for figures, and for the end.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves until [`Handle::stop`]. `tick` is called every few seconds.
    ///
    /// # Errors
    ///
    /// The system no longer reports events.
    pub fn run(&mut self, mut tick: impl FnMut()) -> io::Result<()> {
        loop {
            self.wait()?;
            if self.requests.is_stopped() {
                return Ok(());
            }
            self.requests.answer(|| self.figures());
            self.serve();
            let now = self.clock.now();
            self.server.handle_timeout(now);
            if self.next_sweep <= now {
                self.next_sweep = now + SWEEP;
                self.streams.expire(now);
                self.note_own_addresses();
                // Where connections wait because there were no more files.
                let listeners = self.streams.sources().count();
                self.pending.extend((0..listeners).map(Source::Listener));
                tick();
            }
            self.flush(now);
        }
    }

    /// Waits until there is something to do.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let until = self.server.poll_timeout().min(self.next_sweep);
        let mut patience = until.saturating_since(now);
        if !self.pending.is_empty() {
            patience = Span::ZERO;
        }
        // A nanosecond is nothing to the system, which would then return before the time.
        let patience = std::time::Duration::from_nanos(patience.as_nanos());
        match self.poll.poll(&mut self.events, Some(patience)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        self.pending.extend(self.events.iter().map(|event| Source::from(event.token())));
        Ok(())
    }

    /// Gives each socket that has something its turn.
    fn serve(&mut self) {
        for source in std::mem::take(&mut self.pending) {
            let now = self.clock.now();
            let more = match source {
                Source::Waker => false,
                Source::Udp(number) => self.serve_udp(now, number),
                Source::Listener(number) => {
                    let registry = self.poll.registry();
                    self.streams.accept(now, number, |socket, number| {
                        let events = Interest::READABLE | Interest::WRITABLE;
                        registry.register(socket, Source::Stream(number).into(), events)
                    })
                }
                Source::Relay(number) => {
                    let (relays, server) = (&mut self.relays, &mut self.server);
                    relays.as_mut().is_some_and(|relays| {
                        relays.receive(number, |allocation, from, bytes| {
                            server.handle_relayed(now, allocation, from, bytes);
                        })
                    })
                }
                Source::Stream(number) => {
                    let server = &mut self.server;
                    self.streams.serve(now, number, |id, address, message| {
                        server.handle(now, Path::Stream { id, address }, message);
                    })
                }
            };
            // Mio reports a socket again only after it was read empty.
            if more {
                self.pending.insert(source);
            }
            self.flush(now);
        }
    }

    fn serve_udp(&mut self, now: Time, number: usize) -> bool {
        for _ in 0..TURN {
            let server = &mut self.server;
            if !self.sockets.receive(number, |path, bytes| server.handle(now, path, bytes)) {
                return false;
            }
            self.flush(now);
        }
        true
    }

    /// Sends what the server wants to send, and opens and closes relays.
    fn flush(&mut self, now: Time) {
        while let Some(id) = self.streams.poll_closed() {
            self.server.stream_closed(now, id);
        }
        while let Some(request) = self.server.poll_relay() {
            self.handle_relay_request(now, request);
        }
        while let Some(transmit) = self.server.poll_transmit() {
            match transmit {
                Transmit::Host { path: Path::Udp { socket, address }, bytes } => {
                    self.sockets.send(socket, address, &bytes);
                }
                Transmit::Host { path: Path::Stream { id, .. }, bytes } => {
                    self.streams.send(id, &bytes);
                }
                Transmit::Peer { allocation, to, bytes } => {
                    let relays = self.relays.as_ref();
                    let sent = relays.is_some_and(|relays| relays.send(allocation, to, &bytes));
                    self.sockets.unsent += u64::from(!sent);
                }
            }
        }
        self.streams.write();
    }

    fn handle_relay_request(&mut self, now: Time, request: RelayRequest) {
        let Some(relays) = &mut self.relays else { return };
        match request {
            RelayRequest::Open { allocation, is_ipv6 } => {
                let registry = self.poll.registry();
                let opened = relays.open(allocation, is_ipv6, |socket, number| {
                    registry.register(socket, Source::Relay(number).into(), Interest::READABLE)
                });
                // The host gets its answer now; without a socket it is error 508.
                self.server.relay_opened(now, allocation, opened.ok());
            }
            RelayRequest::Close { allocation } => relays.close(allocation),
        }
    }

    fn figures(&self) -> Figures {
        Figures {
            started: self.clock.start(),
            server: self.server.counters(),
            streams: self.streams.counters(),
            unsent: self.sockets.unsent,
        }
    }
}

/// The sockets of RFC 5780 first, then the other addresses.
fn bind_udp(options: &Options) -> Result<Sockets, BindError> {
    let mut addresses = options.listen.clone();
    if let Some(alternate) = options.alternate {
        let first = addresses.first().copied();
        let main = first.ok_or(BindError::Alternate("there is no address to listen at"))?;
        let next = main.port().checked_add(1).filter(|_| main.port() != 0);
        let next = next.ok_or(BindError::Alternate("the port has no next one"))?;
        // RFC 5780, section 7.4: OTHER-ADDRESS names both to hosts.
        if main.ip().is_unspecified() || alternate.is_unspecified() {
            return Err(BindError::Alternate("both addresses must be named"));
        }
        if main.ip() == alternate || main.is_ipv4() != alternate.is_ipv4() {
            return Err(BindError::Alternate("it must be another one of the same family"));
        }
        let quartet = [
            main,
            SocketAddr::new(main.ip(), next),
            SocketAddr::new(alternate, main.port()),
            SocketAddr::new(alternate, next),
        ];
        addresses.splice(..1, quartet);
    }
    Sockets::bind(&addresses).map_err(|(address, error)| BindError::Listen("UDP", address, error))
}

type Listening = (&'static str, SocketAddr, Option<Tls>);

fn listen(
    streams: &mut Streams,
    addresses: impl Iterator<Item = Listening>,
) -> Result<(), BindError> {
    for (protocol, address, tls) in addresses {
        let bound = streams.listen(address, tls);
        bound.map_err(|error| BindError::Listen(protocol, address, error))?;
    }
    Ok(())
}

fn register(poll: &Poll, sockets: &mut Sockets, streams: &mut Streams) -> io::Result<()> {
    let registry = poll.registry();
    for (number, socket) in sockets.sources().enumerate() {
        registry.register(socket, Source::Udp(number).into(), Interest::READABLE)?;
    }
    for (number, socket) in streams.sources().enumerate() {
        registry.register(socket, Source::Listener(number).into(), Interest::READABLE)?;
    }
    Ok(())
}

/// The secret from which nonces and passwords are derived. It is the same after a restart, so that
/// credentials stay valid. Only the owner of the key can make this signature, and the server does
/// not show it.
fn derive_secret(key: &SecretKey) -> [u8; 16] {
    let signature = key.sign(b"windlass-rendezvous secret of nonces and passwords");
    let hash = digest::digest(&digest::SHA256, &signature);
    *hash.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
}

fn random_seed() -> io::Result<u64> {
    use ring::rand::{SecureRandom, SystemRandom};
    let mut bytes = [0; 8];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system gives no random bytes"))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Each stream and each relayed address takes a file. The soft limit of 1024 is there for programs
/// that use select(2).
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // With fewer files there are fewer streams.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Without such a limit.
#[cfg(not(unix))]
fn raise_file_limit() {}
