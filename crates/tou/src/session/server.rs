//! One rendezvous server, as this host uses it: the client of its protocol, how messages travel,
//! and the credentials for its relay.

use super::one_session::IntroductionId;
use std::collections::VecDeque;
use std::net::SocketAddr;
use windlass_base::{Rng, Span, Time};
use windlass_identity::{PublicKey, SecretKey};
use windlass_rendezvous::client::{Client, Config, Event, Failure, Offer, Transport};
use windlass_rendezvous::message::{
    Content, Instance, Message, REGISTER, TransactionId, TurnCredentials,
};

/// While a stream is in use, how often this host finds out whether UDP works again.
const UDP_PROBE_INTERVAL: Span = Span::from_secs(10);

/// How datagrams travel to a server.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Over UDP.
    Udp,
    /// Through a stream of the caller with this number: TLS over TCP.
    Stream(usize),
}

/// A report of a server to its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerEvent {
    /// The server sees this host at another address than before; see [`Server::mapped`].
    Mapped,
    /// There are credentials for the relay; see [`Server::credentials`].
    Credentials,
    /// The server has registered this host's key.
    Registered,
    /// The server refuses to register this host's key.
    RegistrationRefused { code: u16 },
    /// The server does not answer, or not with a proof of its key.
    Silent,
    /// The server has another key than the user named.
    WrongKey { expected: PublicKey, found: PublicKey },
    /// Another host asks for a session.
    Asked { introduction: IntroductionId, from: PublicKey, body: Vec<u8> },
    /// The other host of an introduction has answered.
    Answered { introduction: IntroductionId, body: Vec<u8> },
    /// The other host of an introduction sends something more.
    More { from: PublicKey, body: Vec<u8> },
    /// An introduction failed. Without a code: there was no answer.
    Failed { introduction: IntroductionId, code: Option<u16> },
}

pub(super) struct Server {
    client: Client,
    address: SocketAddr,
    channel: Channel,
    credentials: Option<TurnCredentials>,
    answers: bool,
    /// Neither UDP nor TLS reaches the server.
    unreachable: bool,
    /// The key that the user named, and the one that the server has instead.
    expected: Option<PublicKey>,
    wrong_key: Option<PublicKey>,
    /// Over UDP the server does not prove its key, as older ones do not.
    unproved: bool,
    probe: Option<UdpProbe>,
    rng: Rng,
    events: VecDeque<ServerEvent>,
}

/// A request over UDP while a stream is in use.
struct UdpProbe {
    next: Time,
    last: Option<TransactionId>,
}

impl Server {
    /// A server at `address`, which has the key `expected` if there is one. With `publish`, this host's
    /// key is registered there.
    pub(super) fn new(
        now: Time,
        (key, instance): (&SecretKey, Instance),
        (address, expected): (SocketAddr, Option<PublicKey>),
        publish: bool,
        seed: u64,
    ) -> Server {
        let transport = Transport::Datagram;
        let mut rng = Rng::new(seed);
        let secret = key.clone();
        let config = Config { secret, instance, publish, transport, server_key: expected };
        Server {
            client: Client::new(config, Rng::new(rng.bits()), now),
            address,
            channel: Channel::Udp,
            credentials: None,
            answers: false,
            unreachable: false,
            expected,
            wrong_key: None,
            unproved: false,
            probe: None,
            rng,
            events: VecDeque::new(),
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn channel(&self) -> Channel {
        self.channel
    }

    /// The address of this host as the server sees it.
    pub(super) fn mapped(&self) -> Option<SocketAddr> {
        let mapped = self.client.mapped_address()?;
        Some(SocketAddr::new(mapped.ip().to_canonical(), mapped.port()))
    }

    /// The server has answered, and has not been silent since.
    pub(super) fn answers(&self) -> bool {
        self.answers
    }

    /// Neither UDP nor TLS has reached the server since it last answered.
    pub(super) fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    /// The caller could not open a stream.
    pub(super) fn note_unreachable(&mut self) {
        self.unreachable = !self.answers;
    }

    /// The key that the user named and the one that the server has, if they differ.
    pub(super) fn wrong_key(&self) -> Option<(PublicKey, PublicKey)> {
        self.expected.zip(self.wrong_key)
    }

    /// The server has shown another key than the user named.
    pub(super) fn note_wrong_key(&mut self, found: PublicKey) {
        self.answers = false;
        let is_news = self.wrong_key.replace(found) != Some(found);
        if let Some(expected) = self.expected.filter(|_| is_news) {
            self.events.push_back(ServerEvent::WrongKey { expected, found });
        }
    }

    /// The server's name stands for another address now.
    pub(super) fn move_to(&mut self, now: Time, address: SocketAddr) {
        self.address = address;
        (self.credentials, self.unproved) = (None, false);
        self.use_channel(now, Channel::Udp);
    }

    /// User name and password for the relay.
    pub(super) fn credentials(&self) -> Option<(&str, &str)> {
        let credentials = self.credentials.as_ref()?;
        Some((&credentials.username, &credentials.password))
    }

    /// Begins again over another channel.
    pub(super) fn use_channel(&mut self, now: Time, channel: Channel) {
        self.channel = channel;
        self.answers = false;
        let next = now + UDP_PROBE_INTERVAL;
        let (transport, probe) = match channel {
            Channel::Udp => (Transport::Datagram, None),
            Channel::Stream(_) => (Transport::Stream, Some(UdpProbe { next, last: None })),
        };
        self.probe = probe;
        self.client.restart_over(now, transport);
        self.take_events();
    }

    /// This host's addresses have changed: asks for the mapped address again.
    pub(super) fn refresh(&mut self, now: Time) {
        self.client.refresh(now);
    }

    /// Sends the offer of a new introduction.
    pub(super) fn introduce(
        &mut self,
        now: Time,
        peer: PublicKey,
        body: Vec<u8>,
    ) -> IntroductionId {
        self.client.introduce(now, peer, body)
    }

    /// Replaces an offer that has not left yet; false if it has.
    pub(super) fn revise(
        &mut self,
        now: Time,
        introduction: IntroductionId,
        body: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        self.client.revise(now, introduction, body)
    }

    /// Sends a further body of an introduction.
    pub(super) fn send_more(&mut self, now: Time, introduction: IntroductionId, body: Vec<u8>) {
        self.client.send(now, introduction, body);
    }

    /// Accepts what another host asked for.
    pub(super) fn answer(&mut self, introduction: IntroductionId, body: Vec<u8>) {
        self.client.answer(introduction, body);
    }

    /// Refuses what another host asked for.
    pub(super) fn refuse(&mut self, introduction: IntroductionId, code: u16) {
        self.client.refuse(introduction, code);
    }

    /// Stops offering: another server was faster.
    pub(super) fn withdraw(&mut self, introduction: IntroductionId) {
        self.client.withdraw(introduction);
    }

    /// Forgets an introduction whose session has ended.
    pub(super) fn forget(&mut self, introduction: IntroductionId) {
        self.client.forget(introduction);
    }

    /// Handles a message of the server. False if it is not one of the rendezvous.
    pub(super) fn handle(&mut self, now: Time, bytes: &[u8]) -> bool {
        let handled = self.client.handle(now, bytes);
        if handled {
            (self.answers, self.unreachable) = (true, false);
        }
        self.take_events();
        handled
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }

    pub(super) fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// Whether a message that came over UDP answers a probe: UDP works.
    pub(super) fn is_probe_answered(&self, bytes: &[u8]) -> bool {
        let last = self.probe.as_ref().and_then(|probe| probe.last);
        let answer = Message::parse(bytes).ok().map(|message| message.transaction);
        last.is_some() && last == answer
    }

    /// A request to send over UDP while a stream is in use.
    pub(super) fn poll_probe(&mut self, now: Time) -> Option<Vec<u8>> {
        let unproved = self.unproved;
        let probe = self.probe.as_mut().filter(|probe| probe.next <= now && !unproved)?;
        probe.next = now + UDP_PROBE_INTERVAL;
        // RFC 8489 §5: 96 random bits.
        let id = u128::from(self.rng.bits()) << 32 | u128::from(self.rng.bits() >> 32);
        let transaction = TransactionId::from(id);
        probe.last = Some(transaction);
        Some(Message { transaction, content: Content::Hello(REGISTER) }.encode())
    }

    pub(super) fn poll_timeout(&self) -> Time {
        let probe = self.probe.as_ref().filter(|_| !self.unproved);
        let probe = probe.map_or(Time::MAX, |probe| probe.next);
        self.client.poll_timeout().min(probe)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.client.handle_timeout(now);
        self.take_events();
    }

    fn take_events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            let event = match event {
                Event::Mapped(_) => ServerEvent::Mapped,
                Event::Registered => {
                    self.wrong_key = None;
                    ServerEvent::Registered
                }
                Event::NotProved { found: Some(found) } => {
                    self.note_wrong_key(found);
                    continue;
                }
                // An older server proves its key over TLS only.
                Event::NotProved { found: None } => {
                    (self.answers, self.unproved) = (false, true);
                    ServerEvent::Silent
                }
                Event::Credentials(credentials) => {
                    self.credentials = Some(credentials);
                    ServerEvent::Credentials
                }
                Event::Refused { code, .. } => ServerEvent::RegistrationRefused { code },
                Event::Silent => {
                    self.answers = false;
                    ServerEvent::Silent
                }
                Event::Offer(Offer { introduction, from, body, .. }) => {
                    ServerEvent::Asked { introduction, from, body }
                }
                Event::Answer { introduction, body, .. } => {
                    ServerEvent::Answered { introduction, body }
                }
                Event::Failed { introduction, failure } => {
                    let code = match failure {
                        Failure::Refused(code) => Some(code),
                        Failure::Silent => None,
                    };
                    ServerEvent::Failed { introduction, code }
                }
                Event::Body { from, body, .. } => ServerEvent::More { from, body },
                // Candidates that did not arrive. The others may do, and a restart sends all.
                _ => continue,
            };
            self.events.push_back(event);
        }
    }
}
