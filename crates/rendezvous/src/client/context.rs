//! State and queues that the parts of a client share.

use std::collections::VecDeque;
use std::net::SocketAddr;

use stun_types::message::TransactionId;
use windlass_base::{Rng, Time};
use windlass_identity::PublicKey;

use super::request::{Request, Rtt, Schedule, Transport};
use super::{Config, Event};
use crate::message::{Content, IntroductionId, Message, Nonce};

/// Settings, measurements and the way out.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) config: Config,
    pub(super) key: PublicKey,
    pub(super) rng: Rng,
    pub(super) rtt: Rtt,
    /// The server's newest nonce for this host's address.
    pub(super) nonce: Option<Nonce>,
    /// The server has proved its key.
    pub(super) is_proved: bool,
    /// This host's address as the server last saw it.
    pub(super) mapped: Option<SocketAddr>,
    pub(super) transmits: VecDeque<Vec<u8>>,
    pub(super) events: VecDeque<Event>,
}

impl Context {
    pub(super) fn new(config: Config, rng: Rng) -> Self {
        let key = config.secret.public_key();
        let (transmits, events) = (VecDeque::new(), VecDeque::new());
        let (nonce, mapped) = (None, None);
        let (rtt, is_proved) = (Rtt::default(), false);
        Self { config, key, rng, rtt, nonce, is_proved, mapped, transmits, events }
    }

    /// Sends a request that needs an answer of the server.
    pub(super) fn request(&mut self, now: Time, content: Content, limit: u32) -> Request {
        let transport = self.config.transport;
        self.send_request(now, content, transport, Schedule::server(limit))
    }

    /// Sends a request that needs an answer of the other host.
    pub(super) fn forwarded_request(&mut self, now: Time, content: Content) -> Request {
        // The way from the server to the other host may be UDP, whatever this host uses.
        self.send_request(now, content, Transport::Datagram, Schedule::introduction())
    }

    fn send_request(
        &mut self,
        now: Time,
        content: Content,
        transport: Transport,
        schedule: Schedule,
    ) -> Request {
        let transaction = TransactionId::from(
            self.random::<12>().iter().fold(0, |id, &byte| (id << 8) | u128::from(byte)),
        );
        let bytes = Message { transaction, content }.encode();
        self.transmits.push_back(bytes.clone());
        Request::new(now, transport, &self.rtt, schedule, (transaction, bytes))
    }

    pub(super) fn respond(&mut self, transaction: TransactionId, content: Content) {
        self.transmits.push_back(Message { transaction, content }.encode());
    }

    pub(super) fn new_introduction(&mut self) -> IntroductionId {
        self.random()
    }

    /// Takes what every response may tell: a nonce, and this host's address.
    pub(super) fn learn(&mut self, nonce: Option<Nonce>, mapped: Option<SocketAddr>) {
        if nonce.is_some() {
            self.nonce = nonce;
        }
        if let Some(address) = mapped
            && self.mapped != mapped
        {
            self.mapped = mapped;
            self.events.push_back(Event::Mapped(address));
        }
    }

    /// The nonce, if the server may get offers.
    pub(super) fn nonce_for_offers(&self) -> Option<Nonce> {
        self.nonce.clone().filter(|_| self.is_proved || self.expected_key().is_none())
    }

    /// The key that the server has to prove in its messages.
    pub(super) fn expected_key(&self) -> Option<PublicKey> {
        self.config.server_key.filter(|_| self.config.transport == Transport::Datagram)
    }

    pub(super) fn random<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            let bits = self.rng.bits().to_be_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
        bytes
    }
}
