//! A host's side of the exchange with one server, without I/O.
//!
//! A [`Client`] registers the host's key at once and keeps it registered. It sends offers to other
//! hosts and passes theirs on. A host that uses several servers has a client for each.
//!
//! The caller passes datagrams, or whole messages of a stream, to [`Client::handle`], and calls
//! [`Client::handle_timeout`] when [`Client::poll_timeout`] has come. After every call it drains
//! [`Client::poll_transmit`] and [`Client::poll_event`].
//!
//! A server that lies can keep messages back, name a wrong mapped address, and replay old messages
//! of the same hosts. It can forge no body: each is signed with the key of its host.

mod context;
mod incoming;
mod introductions;
mod outgoing;
mod registration;
mod request;
#[cfg(feature = "tls")]
mod tls;

use std::net::SocketAddr;

use windlass_base::{Rng, Span, Time};
use windlass_identity::{PublicKey, SecretKey};

use self::context::Context;
use self::incoming::IncomingBodies;
use self::introductions::Introductions;
use self::outgoing::OutgoingBodies;
use self::registration::Registration;
use self::request::Rtt;
pub use self::request::Transport;
#[cfg(feature = "tls")]
pub use self::tls::tls_config;
use crate::message::{
    Content, INTRODUCE, Instance, Introduced, IntroductionId, MAX_BODY_LEN, Message, ParseError,
    Refused, TransactionId, TurnCredentials,
};

/// Settings of a [`Client`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The host's key.
    pub secret: SecretKey,
    /// A random name for this run of the program. Two instances cannot have one key registered at
    /// the same time.
    pub instance: Instance,
    /// Whether other hosts can find this one. Without it the client registers nothing: it learns
    /// the host's address and gets credentials for the relay.
    pub publish: bool,
    /// How messages travel.
    pub transport: Transport,
    /// The key that the server must prove. Until it has, this host sends no offers. Over a stream the
    /// caller has verified it already.
    pub server_key: Option<PublicKey>,
}

/// A report of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The host's address as the server sees it: at first, and after each change.
    Mapped(SocketAddr),
    /// The server has registered the key, for the first time or again.
    Registered,
    /// Credentials for the server's relay. They replace those before.
    Credentials(TurnCredentials),
    /// The server refused the registration with this code. The client tries again after the pause.
    Refused {
        /// One of the codes of [`Refused`].
        code: u16,
        /// Time until the next attempt.
        pause: Span,
    },
    /// The server has not proved that it has [`Config::server_key`]: it has shown another key, or
    /// none, as older servers do over UDP. The client tries again later.
    NotProved {
        /// The key that the server has proved instead.
        found: Option<PublicKey>,
    },
    /// The server has not answered several transmissions. The client goes on trying.
    Silent,
    /// Another host asks for an introduction. Call [`Client::answer`] or [`Client::refuse`].
    Offer(Offer),
    /// The answer to an offer of this host.
    Answer {
        /// The introduction that [`Client::introduce`] returned.
        introduction: IntroductionId,
        /// The target of the offer. The signature is verified.
        from: PublicKey,
        /// The other host's answer.
        body: Vec<u8>,
    },
    /// An offer of this host failed.
    Failed {
        /// The introduction that [`Client::introduce`] returned.
        introduction: IntroductionId,
        /// The reason.
        failure: Failure,
    },
    /// A further body of an introduction. Bodies can arrive in another order than they were sent.
    Body {
        /// The introduction.
        introduction: IntroductionId,
        /// The other host of the introduction. The signature is verified.
        from: PublicKey,
        /// The body as the other host sent it.
        body: Vec<u8>,
    },
    /// The other host did not acknowledge a body of [`Client::send`]. It may have arrived.
    Undelivered {
        /// The introduction.
        introduction: IntroductionId,
        /// The body that this host sent.
        body: Vec<u8>,
        /// The reason.
        failure: Failure,
    },
}

/// An offer of another host. Its signature is verified; whether the host may connect is for the
/// caller to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Names the introduction.
    pub introduction: IntroductionId,
    /// The other host.
    pub from: PublicKey,
    /// The body of the other host's offer.
    pub body: Vec<u8>,
    /// The other host's address as the server claims to see it. Nothing proves it.
    pub seen_address: Option<SocketAddr>,
}

/// Why a body was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server or the other host answered with this code, one of the codes of
    /// [`Refused`].
    Refused(u16),
    /// No answer came.
    Silent,
}

/// A host's side of the exchange with one server.
#[derive(Debug)]
pub struct Client {
    context: Context,
    registration: Registration,
    introductions: Introductions,
    outgoing: OutgoingBodies,
    incoming: IncomingBodies,
}

impl Client {
    /// A client that begins to register. `rng` names its requests and introductions: seed it with
    /// the system's randomness, or an attacker who guesses it can forge responses.
    pub fn new(config: Config, rng: Rng, now: Time) -> Self {
        let mut context = Context::new(config, rng);
        let registration = Registration::new(now, &mut context);
        Self {
            context,
            registration,
            introductions: Introductions::default(),
            outgoing: OutgoingBodies::default(),
            incoming: IncomingBodies::default(),
        }
    }

    /// True while the server holds the registration, as far as this host knows.
    pub fn is_registered(&self) -> bool {
        self.registration.is_registered()
    }

    /// True after [`Client::close`], once the server has confirmed or does not answer.
    pub fn is_closed(&self) -> bool {
        self.registration.is_closed()
    }

    /// This host's address as the server last saw it.
    pub fn mapped_address(&self) -> Option<SocketAddr> {
        self.context.mapped
    }

    /// Takes one message of the server. Returns false if the bytes are of another protocol, such
    /// as STUN's Binding, and need another recipient.
    ///
    /// The caller checks that the server sent the bytes, as far as the transport tells.
    pub fn handle(&mut self, now: Time, bytes: &[u8]) -> bool {
        let Message { transaction, content } = match Message::parse(bytes) {
            Ok(message) => message,
            Err(ParseError::NotStun | ParseError::OtherMethod) => return false,
            Err(_) => return true,
        };
        match content {
            Content::Registered(registered) => {
                if self.take_rtt(now, transaction)
                    && self.registration.admits(now, &registered, &mut self.context)
                {
                    self.learn(now, registered.nonce.clone(), Some(registered.mapped));
                    self.registration.handle_registered(now, registered, &mut self.context);
                }
            }
            Content::Refused(refused) => self.handle_refused(now, transaction, refused),
            Content::Introduced(introduced) => {
                self.outgoing.handle_introduced(transaction, introduced, &mut self.context);
            }
            Content::Introduce(introduce) => {
                let (introductions, context) = (&mut self.introductions, &mut self.context);
                self.incoming.handle_introduce(transaction, introduce, introductions, context);
            }
            // Requests that only a server takes.
            Content::Hello(_) | Content::Register(_) | Content::KeepAlive(_) => {}
        }
        true
    }

    fn handle_refused(&mut self, now: Time, transaction: TransactionId, refused: Refused) {
        if self.take_rtt(now, transaction) {
            self.learn(now, refused.nonce.clone(), refused.mapped);
            self.registration.handle_refused(now, &refused, &mut self.context);
        } else if self.outgoing.awaits(transaction) {
            self.learn(now, refused.nonce.clone(), refused.mapped);
            self.outgoing.handle_refused(now, transaction, &refused, &mut self.context);
        }
    }

    /// True if the registration awaits a response to `transaction`.
    fn take_rtt(&mut self, now: Time, transaction: TransactionId) -> bool {
        let Some(request) = self.registration.awaits(transaction) else { return false };
        if let Some(rtt) = request.rtt(now) {
            self.context.rtt.sample(rtt);
        }
        true
    }

    fn learn(
        &mut self,
        now: Time,
        nonce: Option<crate::message::Nonce>,
        mapped: Option<SocketAddr>,
    ) {
        self.context.learn(nonce, mapped);
        self.outgoing.handle_nonce(now, &mut self.context);
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.registration.handle_timeout(now, &mut self.context);
        self.outgoing.handle_timeout(now, &mut self.context);
    }

    /// When [`Client::handle_timeout`] is due; [`Time::MAX`] after the client was closed.
    pub fn poll_timeout(&self) -> Time {
        self.registration.poll_timeout().min(self.outgoing.poll_timeout())
    }

    /// The next message for the server.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.context.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.context.events.pop_front()
    }

    /// Offers `body`, of at most [`MAX_BODY_LEN`] bytes, to the host `target`. The result is
    /// [`Event::Answer`] or [`Event::Failed`].
    ///
    /// # Panics
    ///
    /// If the body is longer.
    pub fn introduce(&mut self, now: Time, target: PublicKey, body: Vec<u8>) -> IntroductionId {
        assert!(body.len() <= MAX_BODY_LEN, "a body of {} bytes is too long", body.len());
        let introduction = self.context.new_introduction();
        self.introductions.insert(introduction, target);
        self.outgoing.send(now, (introduction, target), true, body, &mut self.context);
        introduction
    }

    /// Replaces the body of an offer that has not left yet, because it waits for a nonce or in the queue
    /// of [`Client::poll_transmit`]. Returns false if it has left. The first answer of a server brings
    /// the nonce and this host's mapped address together, so that an offer can still name it.
    ///
    /// # Panics
    ///
    /// If the body is longer than [`MAX_BODY_LEN`] bytes.
    pub fn revise(
        &mut self,
        now: Time,
        introduction: IntroductionId,
        body: impl FnOnce() -> Vec<u8>,
    ) -> bool {
        let body = || {
            let body = body();
            assert!(body.len() <= MAX_BODY_LEN, "a body of {} bytes is too long", body.len());
            body
        };
        self.outgoing.revise(now, introduction, body, &mut self.context)
    }

    /// Sends a further body, of at most [`MAX_BODY_LEN`] bytes, to the other host of an
    /// introduction. Both hosts can, from a minute after the last body on only by a new offer.
    /// Returns false if this client does not know the introduction.
    ///
    /// # Panics
    ///
    /// If the body is longer.
    pub fn send(&mut self, now: Time, introduction: IntroductionId, body: Vec<u8>) -> bool {
        assert!(body.len() <= MAX_BODY_LEN, "a body of {} bytes is too long", body.len());
        let Some(peer) = self.introductions.peer(introduction) else { return false };
        self.outgoing.send(now, (introduction, peer), false, body, &mut self.context);
        true
    }

    /// Accepts an offer with `body`, of at most [`MAX_BODY_LEN`] bytes. Returns false if no offer
    /// of this introduction waits for an answer.
    ///
    /// # Panics
    ///
    /// If the body is longer.
    pub fn answer(&mut self, introduction: IntroductionId, body: Vec<u8>) -> bool {
        assert!(body.len() <= MAX_BODY_LEN, "a body of {} bytes is too long", body.len());
        let reply = Introduced::signed(&self.context.config.secret, introduction, body);
        self.incoming.reply(introduction, &Content::Introduced(reply), &mut self.context)
    }

    /// Refuses an offer with one of the codes of [`Refused`]. Returns
    /// false if no offer of this introduction waits for an answer.
    pub fn refuse(&mut self, introduction: IntroductionId, code: u16) -> bool {
        let reply = Content::Refused(Refused::with_code(INTRODUCE, code));
        self.introductions.remove(introduction);
        self.incoming.reply(introduction, &reply, &mut self.context)
    }

    /// Stops sending the offer of an introduction. Bodies of the other host still arrive.
    pub fn withdraw(&mut self, introduction: IntroductionId) {
        self.outgoing.forget(introduction);
    }

    /// Ends an introduction: nothing more is sent, and bodies of the other host are refused.
    pub fn forget(&mut self, introduction: IntroductionId) {
        self.introductions.remove(introduction);
        self.outgoing.forget(introduction);
    }

    /// Finds out at once whether the server still sees this host at the same address, for example
    /// after a local address has changed.
    pub fn refresh(&mut self, now: Time) {
        self.registration.refresh(now, &mut self.context);
    }

    /// Starts again over a new stream to the server, or after a new name resolution: registers,
    /// and sends again what was not acknowledged.
    pub fn restart(&mut self, now: Time) {
        self.registration.restart(now, &mut self.context);
        self.outgoing.restart(now, &mut self.context);
    }

    /// As [`Client::restart`], over another transport from now on.
    pub fn restart_over(&mut self, now: Time, transport: Transport) {
        self.context.config.transport = transport;
        // Times of the other transport say nothing about this one.
        self.context.rtt = Rtt::default();
        self.restart(now);
    }

    /// Ends the registration, so that another instance can register the key at once.
    pub fn close(&mut self, now: Time) {
        self.registration.close(now, &mut self.context);
    }
}

#[cfg(test)]
mod tests;
