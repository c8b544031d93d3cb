//! The registration of this host's key: asked for, kept, and asked for again when it is lost.

use windlass_base::{Span, Time};

use super::Event;
use super::context::Context;
use super::request::{Due, Request, TRANSMISSIONS};
use crate::message::{
    CREDENTIAL_LIFETIME_S, Challenge, Content, KeepAlive, REGISTER, Refused, Register, Registered,
    Token,
};

/// The lifetime to ask for in seconds.
const LIFETIME_S: u32 = 60;
/// Time between keep-alives. A NAT must keep a mapping for 2 minutes (RFC 4787, section 4.3), but
/// some keep it for 30 s only.
const KEEP_ALIVE: Span = Span::from_secs(25);
/// Transmissions of a keep-alive: it fails before the registration ends.
const KEEP_ALIVE_TRANSMISSIONS: u32 = 5;
/// Transmissions of the message that ends a registration. If all are lost, it expires.
const RELEASE_TRANSMISSIONS: u32 = 3;
/// Challenges in a row that a registration answers. A nonce can expire under way, once.
const CHALLENGES_MAX: u32 = 3;
/// Pause after a silent server, and after one that sends many challenges.
const PAUSE: Span = Span::from_secs(5);
/// Pause after a refusal that repeating will hardly change.
const LONG_PAUSE: Span = Span::from_secs(30);
/// TURN credentials are renewed after half of their lifetime.
const RENEWAL: Span = Span::from_secs(CREDENTIAL_LIFETIME_S as u64 / 2);

#[derive(Debug)]
enum State {
    /// Waits for a nonce.
    Asking(Request),
    /// Waits for the server's word on a registration.
    Registering(Request),
    /// Registered. The token is absent if nothing was published.
    Held { token: Option<Token>, due: Time },
    /// Registered, waits for the answer to a keep-alive.
    KeepingAlive { token: Token, request: Request },
    /// Pauses before it asks again.
    Paused { until: Time },
    /// Waits for the answer to the end of the registration.
    Releasing(Request),
    /// The registration has ended.
    Closed,
}

/// The registration with one server.
#[derive(Debug)]
pub(super) struct Registration {
    state: State,
    challenges: u32,
    /// The challenge that the server has to sign.
    challenge: Option<Challenge>,
    /// When the credentials need renewal.
    renewal: Time,
}

impl Registration {
    pub(super) fn new(now: Time, context: &mut Context) -> Self {
        let state = State::Asking(context.request(now, hello(), TRANSMISSIONS));
        Self { state, challenges: 0, challenge: None, renewal: Time::MAX }
    }

    pub(super) fn is_registered(&self) -> bool {
        matches!(self.state, State::Held { .. } | State::KeepingAlive { .. })
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    pub(super) fn poll_timeout(&self) -> Time {
        match &self.state {
            State::Asking(request)
            | State::Registering(request)
            | State::KeepingAlive { request, .. }
            | State::Releasing(request) => request.due(),
            State::Held { due, .. } => *due,
            State::Paused { until } => *until,
            State::Closed => Time::MAX,
        }
    }

    /// The request under way, if a response to `transaction` is one to it.
    pub(super) fn awaits(&self, transaction: super::TransactionId) -> Option<&Request> {
        match &self.state {
            State::Asking(request)
            | State::Registering(request)
            | State::KeepingAlive { request, .. }
            | State::Releasing(request) => (request.transaction == transaction).then_some(request),
            State::Held { .. } | State::Paused { .. } | State::Closed => None,
        }
    }

    /// Whether the server has proved its key, where that is asked for. If not, this host does not use
    /// it: what it says counts for nothing.
    pub(super) fn admits(
        &mut self,
        now: Time,
        registered: &Registered,
        context: &mut Context,
    ) -> bool {
        let Some(expected) = context.expected_key() else { return true };
        // Keep-alives have a token, which only the server knows.
        let (State::Registering(_), Some(challenge)) = (&self.state, &self.challenge) else {
            return context.is_proved;
        };
        let found = registered.proved_key(&context.key, challenge).ok().flatten();
        context.is_proved = found == Some(expected);
        if context.is_proved {
            return true;
        }
        if let Some(token) = registered.token {
            // It has published this host's key.
            let end = Content::KeepAlive(KeepAlive { token, lifetime_s: 0 });
            context.request(now, end, 1);
        }
        self.state = State::Paused { until: now + LONG_PAUSE };
        context.events.push_back(Event::NotProved { found });
        false
    }

    /// The response to the request under way is a success.
    pub(super) fn handle_registered(
        &mut self,
        now: Time,
        registered: Registered,
        context: &mut Context,
    ) {
        self.challenges = 0;
        let lifetime = Span::from_secs(registered.lifetime_s.into());
        // A server could grant less than two keep-alives. A second is the least pause: a lying
        // server must not make this host send a flood.
        let due = now + KEEP_ALIVE.min(lifetime / 2).max(Span::from_secs(1));
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Registering(_) => {
                self.renewal = now + RENEWAL;
                let token = registered.token;
                let due = if token.is_some() { due } else { self.renewal };
                self.state = State::Held { token, due };
                context.events.push_back(Event::Registered);
                if let Some(turn) = registered.turn {
                    context.events.push_back(Event::Credentials(turn));
                }
            }
            State::KeepingAlive { token, .. } => {
                self.state = State::Held { token: Some(token), due };
            }
            State::Releasing(_) => {}
            // A success that no request of this state has asked for.
            other => self.state = other,
        }
    }

    /// The response to the request under way is an error.
    pub(super) fn handle_refused(&mut self, now: Time, refused: &Refused, context: &mut Context) {
        if let State::Releasing(_) = self.state {
            self.state = State::Closed;
        } else if refused.code == Refused::UNAUTHORIZED && refused.nonce.is_some() {
            self.challenges += 1;
            if self.challenges > CHALLENGES_MAX {
                self.pause(now, refused.code, PAUSE, context);
            } else {
                self.register(now, context);
            }
        } else {
            let pause = match (refused.code, refused.lifetime_s) {
                // The other instance may be a previous run of this host that crashed.
                (Refused::CONFLICT, Some(s)) => Span::from_secs(u64::from(s.clamp(1, LIFETIME_S))),
                (Refused::TOO_MANY, _) => PAUSE,
                _ => LONG_PAUSE,
            };
            self.pause(now, refused.code, pause, context);
        }
    }

    fn pause(&mut self, now: Time, code: u16, pause: Span, context: &mut Context) {
        self.challenges = 0;
        self.state = State::Paused { until: now + pause };
        context.events.push_back(Event::Refused { code, pause });
    }

    pub(super) fn handle_timeout(&mut self, now: Time, context: &mut Context) {
        match &mut self.state {
            State::Asking(request) | State::Registering(request) => {
                if retry(now, request, context) == Due::Failed {
                    self.state = State::Paused { until: now + PAUSE };
                }
            }
            State::KeepingAlive { request, .. } => {
                if retry(now, request, context) == Due::Failed {
                    self.restart(now, context);
                }
            }
            State::Releasing(request) => {
                if retry(now, request, context) == Due::Failed {
                    self.state = State::Closed;
                }
            }
            State::Held { due, .. } if now >= *due => self.refresh(now, context),
            State::Paused { until } if now >= *until => self.restart(now, context),
            State::Held { .. } | State::Paused { .. } | State::Closed => {}
        }
    }

    /// Asks for a nonce, as at the beginning.
    pub(super) fn restart(&mut self, now: Time, context: &mut Context) {
        if matches!(self.state, State::Releasing(_) | State::Closed) {
            return;
        }
        self.challenges = 0;
        context.is_proved = false;
        self.state = State::Asking(context.request(now, hello(), TRANSMISSIONS));
    }

    /// Finds out at once whether the registration is still valid from this address.
    pub(super) fn refresh(&mut self, now: Time, context: &mut Context) {
        match self.state {
            // A stale nonce costs a round trip, and no more.
            State::Held { .. } if now >= self.renewal => self.register(now, context),
            State::Held { token: Some(token), .. } | State::KeepingAlive { token, .. } => {
                let content = Content::KeepAlive(KeepAlive { token, lifetime_s: LIFETIME_S });
                let request = context.request(now, content, KEEP_ALIVE_TRANSMISSIONS);
                self.state = State::KeepingAlive { token, request };
            }
            _ => self.restart(now, context),
        }
    }

    /// Ends the registration, so that another instance can register the key at once.
    pub(super) fn close(&mut self, now: Time, context: &mut Context) {
        self.state = match self.state {
            State::Held { token: Some(token), .. } | State::KeepingAlive { token, .. } => {
                let content = Content::KeepAlive(KeepAlive { token, lifetime_s: 0 });
                State::Releasing(context.request(now, content, RELEASE_TRANSMISSIONS))
            }
            State::Releasing(_) => return,
            _ => State::Closed,
        };
    }

    fn register(&mut self, now: Time, context: &mut Context) {
        let Some(nonce) = context.nonce.clone() else { return self.restart(now, context) };
        let lifetime_s = if context.config.publish { LIFETIME_S } else { 0 };
        let secret = &context.config.secret;
        let mut register = Register::signed(secret, nonce, context.config.instance, lifetime_s);
        self.challenge = context.expected_key().map(|_| context.random());
        register.challenge = self.challenge;
        let request = context.request(now, Content::Register(register), TRANSMISSIONS);
        self.state = State::Registering(request);
    }
}

fn hello() -> Content {
    Content::Hello(REGISTER)
}

/// Sends a due request again, and reports a silent server.
fn retry(now: Time, request: &mut Request, context: &mut Context) -> Due {
    let due = request.handle_timeout(now);
    if let Due::Send { silent } = due {
        context.transmits.push_back(request.bytes.clone());
        if silent {
            context.events.push_back(Event::Silent);
        }
    }
    due
}
