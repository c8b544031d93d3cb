//! The rendezvous server without I/O: STUN (RFC 8489), NAT behaviour discovery (RFC 5780),
//! registrations, introductions, and a relay (TURN, RFC 8656).
//!
//! The caller passes in messages and the time, and takes out messages. Relays need sockets, which
//! the caller opens when [`Server::poll_relay`] asks for them. All tables are bounded, and nothing
//! is remembered about a source that has not shown that it receives what is sent to its address.

mod allocations;
mod binding;
mod config;
mod counters;
mod introductions;
mod nonces;
mod peers;
mod registrations;
mod relay;
pub(crate) mod shares;
pub(crate) mod source;
mod stun;

use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use stun_types::message::{BINDING, Message as Stun, MessageHeader};
use windlass_base::{Rng, Span, Time};
use windlass_identity::SecretKey;

use crate::message::{
    Content, INTRODUCE, Introduce, KeepAlive, Message, REGISTER, Refused, Register, Registered,
    Token, TransactionId, TurnCredentials,
};
use introductions::{Introductions, Sender, Unintroduced};
use nonces::{Newest, Nonces, Serial};
use peers::Peers;
use registrations::{Registration, Registrations, Unregistered};
use relay::Relay;
use source::{Buckets, Credits, Secret};

pub use allocations::AllocationId;
pub use config::{Config, Limits};
pub use counters::Counters;
pub use peers::PeerPolicy;
pub use relay::RelayRequest;

/// How often expired entries are removed. Nothing expired is ever used.
const SWEEP: Span = Span::from_secs(5);
/// The longest lifetime of a registration, in seconds.
const LIFETIME_MAX_S: u32 = 120;

/// How a host reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// A UDP address, at one of the server's sockets.
    Udp {
        /// The socket: 0, or 1 to 3 with [`Config::alternate`].
        socket: u8,
        /// The host's address.
        address: SocketAddr,
    },
    /// A stream, TCP or TLS.
    Stream {
        /// The caller's number for it, never used again.
        id: u64,
        /// The host's address.
        address: SocketAddr,
    },
}

impl Path {
    /// The host's address.
    pub fn address(&self) -> SocketAddr {
        match self {
            Path::Udp { address, .. } | Path::Stream { address, .. } => *address,
        }
    }

    /// The number of the stream, if it is one.
    pub fn stream(&self) -> Option<u64> {
        match self {
            Path::Udp { .. } => None,
            Path::Stream { id, .. } => Some(*id),
        }
    }
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// To a host.
    Host {
        /// The way to it.
        path: Path,
        /// The message. In a stream it is padded to a multiple of four bytes.
        bytes: Vec<u8>,
    },
    /// From the socket of an allocation to a peer.
    Peer {
        /// The allocation.
        allocation: AllocationId,
        /// The peer.
        to: SocketAddr,
        /// The datagram.
        bytes: Vec<u8>,
    },
}

/// The server.
pub struct Server {
    alternate: Option<[SocketAddr; 4]>,
    secret: Secret,
    key: Option<SecretKey>,
    rng: Rng,
    nonces: Nonces,
    newest: Newest,
    credits: Credits,
    buckets: Buckets,
    registrations: Registrations,
    introductions: Introductions,
    relay: Option<Relay>,
    transmits: VecDeque<Transmit>,
    counters: Counters,
    next_sweep: Time,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("counters", &self.counters()).finish_non_exhaustive()
    }
}

/// A registration that its host learns of.
struct Published {
    token: Token,
    lifetime_s: u32,
}

/// A message that arrived.
#[derive(Clone, Copy)]
struct Arrival {
    now: Time,
    path: Path,
    transaction: TransactionId,
}

impl Server {
    /// A server. `rng` draws tokens and transaction ids: seed it from the system's random source.
    pub fn new(config: Config, rng: Rng) -> Server {
        let Config { secret, key, realm, alternate, relay, relay_peers, limits } = config;
        let secret = Secret::new(secret);
        let per_network = limits.registrations_per_network;
        Server {
            alternate,
            secret,
            key,
            rng,
            nonces: Nonces::new(secret),
            newest: Newest::new(),
            credits: Credits::new(),
            buckets: Buckets::new(limits.requests_per_s, limits.requests_burst),
            registrations: Registrations::new(limits.registrations, per_network),
            introductions: Introductions::new(limits.introductions),
            relay: relay.map(|policy| Relay::new(realm, Peers::new(policy, relay_peers), &limits)),
            transmits: VecDeque::new(),
            counters: Counters::default(),
            next_sweep: Time::ZERO,
        }
    }

    /// The addresses of the server's host, and others that lead to it. The relay sends to them only if
    /// [`Config::relay_peers`] names them, or if they are relayed ones.
    pub fn set_own_addresses(&mut self, own: impl IntoIterator<Item = IpAddr>) {
        if let Some(relay) = &mut self.relay {
            relay.peers.set_own(own);
        }
    }

    /// Handles a message of a host: a datagram, or one message of a stream.
    pub fn handle(&mut self, now: Time, path: Path, bytes: &[u8]) {
        self.counters.received += 1;
        self.newest.begin(now);
        if let Path::Udp { address, .. } = path {
            self.credits.received(&self.secret, address, bytes.len());
        }
        // RFC 8656, section 12: channel numbers begin at 0x4000; STUN begins with two zero bits.
        if bytes.first().is_some_and(|first| first >> 6 == 1) {
            return self.handle_channel_data(now, path, bytes);
        }
        let Ok(header) = MessageHeader::from_bytes(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        match header.get_type().method() {
            REGISTER | INTRODUCE => self.handle_own(now, path, bytes),
            BINDING => self.handle_binding(path, bytes),
            _ => self.handle_relay(now, path, bytes),
        }
    }

    /// A stream has ended: its registrations and allocations end too.
    pub fn stream_closed(&mut self, _now: Time, id: u64) {
        self.registrations.remove_stream(id);
        if let Some(relay) = &mut self.relay {
            relay.close_stream(id);
        }
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next request to open or close a socket of the relay.
    pub fn poll_relay(&mut self) -> Option<RelayRequest> {
        self.relay.as_mut()?.poll_request()
    }

    /// The caller has opened the socket of an allocation, or could not.
    pub fn relay_opened(
        &mut self,
        now: Time,
        allocation: AllocationId,
        address: Option<SocketAddr>,
    ) {
        let Some(relay) = &mut self.relay else { return };
        if let Some((path, bytes)) = relay.opened(now, allocation, address) {
            self.send(path, bytes);
        }
    }

    /// Handles a datagram of a peer at the socket of an allocation.
    pub fn handle_relayed(
        &mut self,
        now: Time,
        allocation: AllocationId,
        from: SocketAddr,
        bytes: &[u8],
    ) {
        let Some(relay) = &mut self.relay else { return };
        if let Some((path, bytes)) = relay.handle_peer(now, allocation, from, bytes) {
            self.counters.relayed_bytes += bytes.len() as u64;
            // The host asked for it with its credentials.
            self.transmits.push_back(Transmit::Host { path, bytes });
        } else {
            self.counters.relay_dropped += 1;
        }
    }

    /// When to call [`Server::handle_timeout`].
    pub fn poll_timeout(&self) -> Time {
        self.next_sweep
    }

    /// Removes what has expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        self.registrations.expire(now);
        self.introductions.expire(now);
        if let Some(relay) = &mut self.relay {
            relay.expire(now);
        }
    }

    /// Counts since the start, and the present sizes of the tables.
    pub fn counters(&self) -> Counters {
        Counters {
            registrations: self.registrations.len() as u64,
            introductions: self.introductions.len() as u64,
            allocations: self.relay.as_ref().map_or(0, |relay| relay.len() as u64),
            ..self.counters
        }
    }

    /// Asserts that the tables agree with each other and are within their bounds. For tests.
    ///
    /// # Panics
    ///
    /// If they do not.
    #[doc(hidden)]
    pub fn check(&self) {
        self.registrations.check();
        self.introductions.check();
        if let Some(relay) = &self.relay {
            relay.check();
        }
    }

    /// Sends a message to a host. An address that is not verified gets at most as many bytes as
    /// came from it.
    fn send(&mut self, path: Path, bytes: Vec<u8>) -> bool {
        if let Path::Udp { address, .. } = path
            && !self.credits.spend(&self.secret, address, bytes.len())
        {
            self.counters.withheld += 1;
            return false;
        }
        self.counters.sent += 1;
        self.transmits.push_back(Transmit::Host { path, bytes });
        true
    }

    fn reply(&mut self, to: Arrival, content: Content) {
        let message = Message { transaction: to.transaction, content };
        self.send(to.path, message.encode());
    }

    fn refuse(&mut self, to: Arrival, method: stun_types::message::Method, code: u16) {
        self.counters.refused += 1;
        self.reply(to, Content::Refused(Refused::with_code(method, code)));
    }

    fn challenge(&mut self, to: Arrival, method: stun_types::message::Method) {
        let address = to.path.address();
        let nonce = self.nonces.draw(to.now, address);
        self.reply(to, Content::Refused(Refused::challenge(method, nonce, address)));
    }

    /// The serial number of a nonce, if it proves that the host receives what is sent to its address.
    fn verify(&mut self, at: Arrival, nonce: &str) -> Option<Serial> {
        let address = at.path.address();
        let serial = self.nonces.verify(at.now, address, nonce)?;
        // TCP's handshake has verified the address of a stream.
        if at.path.stream().is_none() {
            self.credits.verified(&self.secret, address);
        }
        Some(serial)
    }

    fn handle_own(&mut self, now: Time, path: Path, bytes: &[u8]) {
        let Ok(message) = Message::parse(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let at = Arrival { now, path, transaction: message.transaction };
        match message.content {
            Content::Hello(method) => self.challenge(at, method),
            Content::Register(register) => self.handle_register(at, &register),
            Content::KeepAlive(keep_alive) => self.handle_keep_alive(at, keep_alive),
            Content::Introduce(introduce) => self.handle_introduce(at, introduce),
            Content::Introduced(_) | Content::Refused(_) => self.handle_answer(at, message.content),
            // Only servers send it.
            Content::Registered(_) => self.counters.malformed += 1,
        }
    }

    /// Nonce, rate and signature of a signed request. Otherwise the host gets an answer.
    fn admit(
        &mut self,
        at: Arrival,
        method: stun_types::message::Method,
        nonce: &str,
        is_signed: impl FnOnce() -> bool,
    ) -> Option<Serial> {
        let Some(serial) = self.verify(at, nonce) else {
            self.challenge(at, method);
            return None;
        };
        if !self.buckets.take(&self.secret, at.now, at.path.address()) {
            self.refuse(at, method, Refused::TOO_MANY);
        } else if !is_signed() {
            self.refuse(at, method, Refused::FORBIDDEN);
        } else {
            return Some(serial);
        }
        None
    }

    fn handle_register(&mut self, at: Arrival, register: &Register) {
        let nonce = register.nonce.as_str();
        let Some(serial) = self.admit(at, REGISTER, nonce, || register.verify().is_ok()) else {
            return;
        };
        let mut lifetime_s = register.lifetime_s.min(LIFETIME_MAX_S);
        let mut token = None;
        if lifetime_s > 0 {
            match self.publish(at, register, serial, lifetime_s) {
                Some(published) => {
                    lifetime_s = published.lifetime_s;
                    token = Some(published.token);
                }
                None => return,
            }
        }
        let turn = self.relay.as_ref().map(|_| relay::credentials(&self.secret, &register.key));
        let nonce = Some(self.nonces.draw(at.now, at.path.address()));
        let mapped = at.path.address();
        let mut registered = Registered { mapped, lifetime_s, nonce, token, turn, proof: None };
        // Not over a stream, where TLS has done it: a signature costs as much as all the rest.
        if let (Some(key), Some(challenge), None) =
            (&self.key, &register.challenge, at.path.stream())
        {
            registered.prove(key, &register.key, challenge);
        }
        self.reply(at, Content::Registered(registered));
    }

    /// Enters a registration. `None` if the host gets another answer. A repeated message gets the same
    /// answer again. A copy of an older one, whose source address may be forged, moves nothing.
    fn publish(
        &mut self,
        at: Arrival,
        register: &Register,
        serial: Serial,
        lifetime_s: u32,
    ) -> Option<Published> {
        let Register { key, instance, .. } = register;
        if let Some(held) = self.registrations.get(at.now, key)
            && (held.path, held.serial, held.instance) == (at.path, serial, *instance)
        {
            let left = held.expires.saturating_since(at.now).as_secs_f64().ceil();
            return Some(Published { token: held.token, lifetime_s: left as u32 });
        }
        // A replayed request must not move a host to the address of the attacker.
        if !self.newest.admits(&self.secret, key.as_bytes(), serial) {
            self.challenge(at, REGISTER);
            return None;
        }
        let token = self.draw_token();
        let expires = at.now + Span::from_secs(lifetime_s.into());
        let new = Registration { path: at.path, instance: *instance, token, serial, expires };
        if let Err(error) = self.registrations.insert(at.now, *key, new, &mut self.rng) {
            self.refuse_registration(at, error);
            return None;
        }
        self.newest.note(&self.secret, key.as_bytes(), serial);
        self.counters.registered += 1;
        Some(Published { token, lifetime_s })
    }

    fn refuse_registration(&mut self, at: Arrival, error: Unregistered) {
        let refused = match error {
            Unregistered::Full => Refused::with_code(REGISTER, Refused::FULL),
            Unregistered::Held(left) => {
                let lifetime_s = Some(left.as_secs_f64().ceil() as u32);
                Refused { lifetime_s, ..Refused::with_code(REGISTER, Refused::CONFLICT) }
            }
        };
        self.counters.refused += 1;
        self.reply(at, Content::Refused(refused));
    }

    fn draw_token(&mut self) -> Token {
        let (high, low) = (self.rng.bits(), self.rng.bits());
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }

    fn handle_keep_alive(&mut self, at: Arrival, keep_alive: KeepAlive) {
        let lifetime_s = keep_alive.lifetime_s.min(LIFETIME_MAX_S);
        let expires = at.now + Span::from_secs(lifetime_s.into());
        // An unknown token is no proof: the host registers again, with its signature.
        if !self.registrations.keep(at.now, &keep_alive.token, at.path, expires) {
            return self.challenge(at, REGISTER);
        }
        self.counters.kept += 1;
        if lifetime_s == 0 {
            self.registrations.end(&keep_alive.token);
        }
        let mapped = at.path.address();
        let nothing: Option<TurnCredentials> = None;
        let registered =
            Registered { mapped, lifetime_s, nonce: None, token: None, turn: nothing, proof: None };
        self.reply(at, Content::Registered(registered));
    }

    fn handle_introduce(&mut self, at: Arrival, introduce: Introduce) {
        let nonce = introduce.nonce.as_str();
        let Some(serial) = self.admit(at, INTRODUCE, nonce, || introduce.verify().is_ok()) else {
            return;
        };
        let from = Sender { key: introduce.key, path: at.path, serial };
        let to = match self.other_host(at, &introduce, from) {
            Ok(to) => to,
            Err(Unintroduced::Stale) => return self.challenge(at, INTRODUCE),
            Err(error) => {
                let code = match error {
                    Unintroduced::Conflict => Refused::CONFLICT,
                    Unintroduced::Full => Refused::FULL,
                    Unintroduced::Unknown | Unintroduced::Stale => Refused::NOT_FOUND,
                };
                return self.refuse(at, INTRODUCE, code);
            }
        };
        let fresh = u128::from(self.rng.bits()) << 64 | u128::from(self.rng.bits());
        let transaction = self.introductions.forward(at.now, (at.path, at.transaction), to, fresh);
        let seen = Some(at.path.address());
        let content = Content::Introduce(Introduce { seen, ..introduce });
        self.forward(to, Message { transaction, content });
    }

    /// Where the other host of an introduction is, which begins if a target is named.
    fn other_host(
        &mut self,
        at: Arrival,
        introduce: &Introduce,
        from: Sender,
    ) -> Result<Path, Unintroduced> {
        let id = introduce.introduction;
        let Some(target) = introduce.target else {
            let (key, last) = self.introductions.other(at.now, &id, from)?;
            // A registered host may have moved since.
            return Ok(self.registrations.get(at.now, &key).map_or(last, |one| one.path));
        };
        let registered = self.registrations.get(at.now, &target);
        let to = registered.map(|one| one.path).ok_or(Unintroduced::Unknown)?;
        self.introductions.begin(at.now, id, from, (target, to))?;
        self.counters.introduced += 1;
        Ok(to)
    }

    fn handle_answer(&mut self, at: Arrival, content: Content) {
        if let Content::Refused(refused) = &content
            && refused.method != INTRODUCE
        {
            return;
        }
        let Some(forwarded) = self.introductions.answered(at.transaction, at.path) else { return };
        let (path, transaction) = forwarded.back;
        self.forward(path, Message { transaction: transaction.into(), content });
    }

    /// Sends a message of another host. Both addresses are verified: one is registered, the other
    /// has shown a nonce. The limit is the rate of the host that asks.
    fn forward(&mut self, path: Path, message: Message) {
        self.counters.sent += 1;
        self.transmits.push_back(Transmit::Host { path, bytes: message.encode() });
    }

    fn handle_binding(&mut self, path: Path, bytes: &[u8]) {
        let Ok(request) = Stun::from_bytes(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let answers = binding::answers(&request, path, self.alternate.as_ref());
        self.counters.bindings += u64::from(!answers.is_empty());
        // The first has everything that was asked for, the second only what is necessary.
        for (path, bytes) in answers {
            if self.send(path, bytes) {
                return;
            }
        }
    }

    fn handle_channel_data(&mut self, now: Time, path: Path, bytes: &[u8]) {
        let Some(relay) = &mut self.relay else { return };
        match relay.channel_data(now, path, bytes) {
            Some(transmit) => self.relay_to_peer(transmit),
            None => self.counters.relay_dropped += 1,
        }
    }

    fn handle_relay(&mut self, now: Time, path: Path, bytes: &[u8]) {
        let Ok(message) = Stun::from_bytes(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let address = path.address();
        let nonce = message.raw_attribute(stun::NONCE);
        let nonce = nonce.as_ref().and_then(|raw| std::str::from_utf8(&raw.value).ok());
        let at = Arrival { now, path, transaction: message.transaction_id() };
        let verified = nonce.is_some_and(|nonce| self.verify(at, nonce).is_some());
        let fresh = self.nonces.draw(now, address);
        let Some(relay) = &mut self.relay else { return };
        let proof = relay::Proof { secret: &self.secret, nonce: fresh, verified };
        match relay.handle(now, path, &message, &proof) {
            relay::Answer::Host(bytes) => {
                self.send(path, bytes);
            }
            relay::Answer::Peer(transmit) => self.relay_to_peer(transmit),
            relay::Answer::Nothing => {
                let is_data = message.class() == stun_types::message::MessageClass::Indication;
                self.counters.relay_dropped += u64::from(is_data);
            }
        }
    }

    fn relay_to_peer(&mut self, transmit: Transmit) {
        if let Transmit::Peer { bytes, .. } = &transmit {
            self.counters.relayed_bytes += bytes.len() as u64;
        }
        self.transmits.push_back(transmit);
    }
}

/// The length of the message that begins here, without padding: STUN (RFC 8489, section 6.2.2) or
/// ChannelData (RFC 8656, section 12.4). `None` while its header is incomplete. In a stream, each
/// message takes a multiple of four bytes.
pub fn frame_len(bytes: &[u8]) -> Option<usize> {
    let [first, _, high, low] = bytes.first_chunk::<4>()?;
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    Some(len + if first >> 6 == 0 { MessageHeader::LENGTH } else { 4 })
}

#[cfg(test)]
mod tests;
