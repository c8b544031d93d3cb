//! One host of the world: its sessions, its connections, and an application that checks bytes.

use super::cipher::{Opener, Sealer};
use super::network::PORT;
use super::streams::StreamId;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use windlass_base::{Ecn, Rng, Span, Time};
use windlass_identity::SecretKey;
use windlass_tou::endpoint::{ConnectionId, Limits};
use windlass_tou::session::{Allow, CloseReason, Event, Host, HostConfig};
use windlass_tou::wire::SessionPeer;
use windlass_tou::{Endpoint, Options};

/// The host that asks for the session.
pub(super) const ASKING: usize = 0;
/// The host that is registered.
pub(super) const REGISTERED: usize = 1;

/// The bytes that one end of a connection sends, by their position.
fn byte(seed: u64, number: u32, from: usize, at: u64) -> u8 {
    let mixed = (seed ^ u64::from(number) << 32 ^ (from as u64) << 60).wrapping_add(at);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// A connection's two streams at this end.
struct Transfer {
    number: u32,
    /// This host has opened it.
    is_own: bool,
    sealer: Sealer,
    opener: Opener,
    /// Sealed bytes that the connection has not taken.
    outbox: Vec<u8>,
    /// Plain bytes that were sealed.
    sealed: u64,
    has_closed: bool,
    received: u64,
    /// Complete in both directions, or given up.
    is_over: bool,
}

impl Transfer {
    fn new(seed: u64, (number, is_own): (u32, bool), me: usize) -> Transfer {
        Transfer {
            number,
            is_own,
            sealer: Sealer::new(seed, number, me),
            opener: Opener::new(seed, number, 1 - me),
            outbox: Vec::new(),
            sealed: 0,
            has_closed: false,
            received: 0,
            is_over: false,
        }
    }
}

pub(super) struct End {
    index: usize,
    pub(super) host: Host,
    pub(super) endpoint: Endpoint,
    seed: u64,
    bytes: u64,
    transfers: BTreeMap<ConnectionId, Transfer>,
    pub(super) tag: Option<u32>,
    pub(super) closed: Option<CloseReason>,
    /// Connections complete in both directions.
    pub(super) done: u32,
    /// Connections that ended early: for tampering only.
    pub(super) failed: u32,
    /// The rendezvous servers that are silent over UDP: a stream is wanted.
    pub(super) wants_stream: BTreeSet<usize>,
    pub(super) unneeded_streams: Vec<StreamId>,
    /// Connections of an earlier session to open again.
    pub(super) to_reopen: u32,
    pub(super) is_registered: bool,
    /// When the first byte of the other host arrived.
    pub(super) first_byte: Option<Time>,
    /// Lines for the log.
    pub(super) notes: Vec<String>,
}

fn randomness(seed: u64, index: usize) -> windlass_tou::session::Randomness {
    let mut rng = Rng::fork(seed, 10 + index as u64);
    Box::new(move |bytes| bytes.fill_with(|| rng.below(256) as u8))
}

pub(super) fn key(index: usize) -> SecretKey {
    SecretKey::from_seed([index as u8 + 1; 32])
}

impl End {
    pub(super) fn new(index: usize, seed: u64, bytes: u64) -> End {
        let config = HostConfig {
            key: key(index),
            instance: [index as u8; 16],
            allow: match index {
                REGISTERED => Allow::Keys([key(ASKING).public_key()].into()),
                _ => Allow::NoHost,
            },
            relay_only: false,
            outage_max: Span::from_secs(900),
            random: randomness(seed, index),
            source_for: Box::new(|_| None),
        };
        let mut endpoint = Endpoint::new(Limits::default(), [index as u8; 16]);
        endpoint.serve_sessions_only();
        endpoint
            .listen(Options::for_sessions().listening_config(), 64)
            .expect("it does not listen yet");
        End {
            index,
            host: Host::new(config, PORT),
            endpoint,
            seed,
            bytes,
            transfers: BTreeMap::new(),
            tag: None,
            closed: None,
            done: 0,
            failed: 0,
            wants_stream: BTreeSet::new(),
            unneeded_streams: Vec::new(),
            to_reopen: 0,
            is_registered: false,
            first_byte: None,
            notes: Vec::new(),
        }
    }

    pub(super) fn set_address(&mut self, now: Time, ip: IpAddr) {
        self.host.set_addresses(now, [ip]);
    }

    /// Opens a connection in the session. False without one.
    pub(super) fn open(&mut self, now: Time) -> bool {
        let Some(tag) = self.tag else { return false };
        let Some(number) = self.host.take_number(tag) else { return false };
        let peer = SessionPeer { tag, number }.address();
        let config = Options::for_sessions().connection_config(&peer);
        let Ok(id) = self.endpoint.connect(now, peer, config) else { return false };
        self.transfers.insert(id, Transfer::new(self.seed, (number, true), self.index));
        true
    }

    /// Whether the session has a path, and whether a relay of either host is on it.
    pub(super) fn is_relayed(&self) -> Option<bool> {
        let info = self.host.info(self.tag?)?;
        info.path.map(|_| info.relayed)
    }

    /// Applies the host's events, as the driver does.
    ///
    /// # Errors
    /// A session with a host that is not the other one.
    pub(super) fn take_events(&mut self, now: Time) -> Result<(), String> {
        while let Some(event) = self.host.poll_event() {
            self.notes.push(format!("{event:?}"));
            match event {
                Event::Opened { tag, peer, .. } => {
                    if peer != key(1 - self.index).public_key() {
                        return Err(format!("host {} has a session with {peer}", self.index));
                    }
                    self.endpoint.open_session(tag);
                    if self.tag.is_some_and(|earlier| earlier != tag) {
                        self.to_reopen += self.forget_session();
                    }
                    self.tag = Some(tag);
                    self.closed = None;
                }
                Event::PathFound { tag } | Event::PathChanged { tag } => {
                    if self.host.is_on_new_path(tag) {
                        self.endpoint.path_replaced(now, tag);
                    }
                    if matches!(event, Event::PathFound { .. }) {
                        self.endpoint.path_found(now, tag);
                    } else {
                        self.endpoint.path_changed(now, tag);
                    }
                    let info = self.host.info(tag);
                    self.notes.push(format!("{:?}", info.and_then(|info| info.path)));
                }
                Event::Closed { tag, reason } => {
                    self.endpoint.close_session(tag, windlass_tcp::Error::Unreachable);
                    // An earlier session may end after another one has begun.
                    if self.tag == Some(tag) {
                        self.closed = Some(reason);
                    }
                }
                Event::Registered { .. } => self.is_registered = true,
                Event::StreamUnneeded { stream } => self.unneeded_streams.push(stream as StreamId),
                Event::Silent { server } => {
                    self.wants_stream.insert(server);
                }
                _ => {}
            }
        }
        if let Some(tag) = self.tag {
            self.host.set_in_use(tag, self.endpoint.session_len(tag) > 0);
        }
        Ok(())
    }

    /// Passes datagrams that came through a relay to the endpoint.
    pub(super) fn take_relayed(&mut self, now: Time, datagrams: Vec<(SocketAddr, Vec<u8>)>) {
        for (peer, bytes) in datagrams {
            self.endpoint.handle_datagrams(now, peer, Ecn::NotEct, &bytes, bytes.len());
        }
    }

    /// Forgets a session that has ended. Returns the number of connections that this host had opened in it
    /// and that are not complete.
    pub(super) fn forget_session(&mut self) -> u32 {
        (self.tag, self.closed) = (None, None);
        let transfers = std::mem::take(&mut self.transfers);
        let unfinished = transfers.values().filter(|one| one.is_own && !one.is_over).count();
        unfinished as u32
    }

    /// Lets the application write, read and close.
    pub(super) fn run_application(&mut self, now: Time) -> Result<(), String> {
        while let Some(id) = self.endpoint.accept() {
            let peer = self.endpoint.peer(id).and_then(|peer| SessionPeer::of(&peer));
            let number = peer.ok_or("a connection outside of a session")?.number;
            self.transfers.insert(id, Transfer::new(self.seed, (number, false), self.index));
        }
        while self.endpoint.poll_event().is_some() {}
        let ids: Vec<_> = self.transfers.keys().copied().collect();
        for id in ids {
            self.transfer(now, id)?;
        }
        Ok(())
    }

    fn transfer(&mut self, now: Time, id: ConnectionId) -> Result<(), String> {
        let (seed, me, bytes) = (self.seed, self.index, self.bytes);
        let Some(transfer) = self.transfers.get_mut(&id).filter(|one| !one.is_over) else {
            return Ok(());
        };
        let Some(stream) = self.endpoint.stream_mut(id) else {
            // The endpoint removes connections that have failed.
            transfer.is_over = true;
            self.failed += 1;
            self.notes.push(format!("connection {} has failed", transfer.number));
            return Ok(());
        };
        if !stream.connection().state().is_synchronized() {
            return Ok(());
        }
        transfer.fill_outbox(seed, me, bytes);
        while let Ok(taken @ 1..) = stream.write(&transfer.outbox) {
            transfer.outbox.drain(..taken);
            transfer.fill_outbox(seed, me, bytes);
        }
        if transfer.outbox.is_empty() && !transfer.has_closed {
            stream.connection_mut().close(now);
            transfer.has_closed = true;
        }
        let (mut chunk, mut plain) = ([0; 4096], Vec::new());
        let mut authentic = true;
        while let Ok(taken @ 1..) = stream.read(&mut chunk) {
            authentic &= transfer.opener.open(&chunk[..taken], &mut plain).is_ok();
        }
        let ended = stream.connection().peer_closed();
        let truncated = ended && authentic && !transfer.opener.has_ended();
        if !authentic || truncated {
            // As TLS does with a bad record, or with an end of the stream that was not announced.
            stream.connection_mut().abort();
            self.notes.push(format!("connection {} is not authentic", transfer.number));
        }
        if !plain.is_empty() {
            self.first_byte.get_or_insert(now);
        }
        transfer.check(&plain, seed, me, bytes)?;
        if !authentic || truncated {
            transfer.is_over = true;
            self.failed += 1;
        } else if ended && transfer.has_closed {
            if transfer.received < bytes {
                return Err(format!("only {} of {bytes} bytes arrived", transfer.received));
            }
            transfer.is_over = true;
            self.done += 1;
        }
        Ok(())
    }
}

impl Transfer {
    fn fill_outbox(&mut self, seed: u64, me: usize, bytes: u64) {
        if !self.outbox.is_empty() || self.sealed > bytes {
            return;
        }
        let end = bytes.min(self.sealed + 4096);
        let plain: Vec<u8> = (self.sealed..end).map(|at| byte(seed, self.number, me, at)).collect();
        self.sealer.seal(&plain, &mut self.outbox);
        self.sealed = end;
        if end == bytes {
            self.sealer.seal_end(&mut self.outbox);
            self.sealed = bytes + 1;
        }
    }

    fn check(&mut self, plain: &[u8], seed: u64, me: usize, bytes: u64) -> Result<(), String> {
        for found in plain {
            if *found != byte(seed, self.number, 1 - me, self.received) {
                return Err(format!("byte {} is wrong", self.received));
            }
            self.received += 1;
        }
        if self.received > bytes {
            return Err(format!("{} bytes of {bytes} arrived", self.received));
        }
        Ok(())
    }
}
