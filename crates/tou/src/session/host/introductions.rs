//! Introductions: this host's own, and those of other hosts.

use super::{CloseReason, Event, Host};
use crate::session::offer::{Kind, Offer, Sent};
use crate::session::one_session::{IntroductionId, RETRY_AFTER_REFUSAL, Session, SessionState};
use crate::session::server::{Server, ServerEvent};
use is::IceCreds;
use windlass_base::Time;
use windlass_identity::PublicKey;
use windlass_rendezvous::message::Refused;

/// The tag belongs to another session.
const TAG_IN_USE: u16 = Refused::CONFLICT;

impl Host {
    /// Begins a session with `peer`: the first introduction.
    pub(super) fn ask(&mut self, now: Time, tag: u32, peer: PublicKey) {
        let ice = self.new_ice(true);
        let session = Session::new(now, peer, true, ice, (self.best_server(), [0; 16]));
        self.sessions.insert(tag, session);
        self.send_offer(now, tag);
        self.want_relays(now);
    }

    /// Introduces this host again, because the session has lost its path: an ICE restart
    /// (RFC 8445 §9).
    pub(super) fn ask_again(&mut self, now: Time, tag: u32) {
        self.renew_relays_of_lost(now, tag);
        let ice = self.new_ice(true);
        let server = self.best_server();
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        session.restart = Some(ice);
        self.servers[session.server].forget(session.introduction);
        session.server = server;
        session.answered = false;
        session.note_attempt(now);
        self.send_offer(now, tag);
        self.want_relays(now);
    }

    /// Gives up the relays of a session that begins its search again without a path. The peer may
    /// have lost a path that this host never had, so that its session is searching still.
    fn renew_relays_of_lost(&mut self, now: Time, tag: u32) {
        let without_path =
            |one: &Session| matches!(one.state, SessionState::Lost | SessionState::Searching);
        if self.sessions.get(&tag).is_some_and(without_path) {
            self.renew_relays(now);
        }
    }

    fn send_offer(&mut self, now: Time, tag: u32) {
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        let body = session.offer(tag, Kind::Offer).encode();
        session.introduction = self.servers[session.server].introduce(now, session.peer, body);
    }

    /// The rendezvous that answered last, or the first one.
    fn best_server(&self) -> usize {
        let answers = self.servers.iter().position(|server| server.answers());
        answers.unwrap_or(0)
    }

    pub(super) fn handle_server_event(&mut self, now: Time, server: usize, event: ServerEvent) {
        match event {
            ServerEvent::Mapped => self.share_reflexive(now, server),
            ServerEvent::Credentials => {
                self.drop_relays_of_other_credentials(server);
                self.want_relays_if_used(now);
            }
            ServerEvent::Registered => {
                if let Some(mapped) = self.servers[server].mapped() {
                    self.events.push_back(Event::Registered { server, mapped });
                }
            }
            ServerEvent::RegistrationRefused { code } => {
                self.events.push_back(Event::RegistrationRefused { server, code });
            }
            ServerEvent::Silent => self.events.push_back(Event::Silent { server }),
            ServerEvent::Asked { introduction, from, body } => {
                self.handle_asked(now, (server, introduction), from, &body);
            }
            ServerEvent::Answered { introduction, body } => {
                self.handle_answer(now, introduction, &body);
            }
            ServerEvent::More { from, body } => self.handle_more(now, from, &body),
            ServerEvent::Failed { introduction, code } => {
                self.handle_failure(now, introduction, code);
            }
        }
    }

    /// A rendezvous sees this host at an address: every session may use it.
    fn share_reflexive(&mut self, now: Time, server: usize) {
        if self.config.relay_only {
            return;
        }
        let by_udp = |server: &&Server| server.channel() == super::Channel::Udp;
        let mapped = Some(&self.servers[server]).filter(by_udp).and_then(Server::mapped);
        let base = self.base_for(self.servers[server].address());
        let (Some(mapped), Some(base)) = (mapped, base) else { return };
        for (tag, session) in &mut self.sessions {
            if session.searching().add_reflexive(mapped, base).is_none() {
                continue;
            }
            session.note_news(now);
            // An offer may have waited for the answer that brought the address. It can name it then,
            // which saves a round trip.
            if session.server == server && session.asked && !session.answered {
                let introduction = session.introduction;
                let body = || session.offer(*tag, Kind::Offer).encode();
                self.servers[server].revise(now, introduction, body);
            }
        }
    }

    /// Another host asks for a session, or restarts ICE.
    fn handle_asked(
        &mut self,
        now: Time,
        via: (usize, IntroductionId),
        from: PublicKey,
        body: &[u8],
    ) {
        let (server, introduction) = via;
        let Ok(offer) = Offer::decode(body) else {
            return self.servers[server].refuse(introduction, Refused::BAD_REQUEST);
        };
        let known = self.sessions.get(&offer.tag).map(|session| session.peer);
        if offer.kind != Kind::Offer {
            self.servers[server].refuse(introduction, Refused::BAD_REQUEST);
        } else if known.is_some_and(|peer| peer != from) {
            self.servers[server].refuse(introduction, TAG_IN_USE);
        } else if known.is_some() || self.admits(via, &from) {
            self.accept(now, via, from, &offer);
        }
    }

    /// The other host of a session has found more candidates.
    fn handle_more(&mut self, now: Time, from: PublicKey, body: &[u8]) {
        let Ok(offer) = Offer::decode(body) else { return };
        let Some(session) = self.sessions.get_mut(&offer.tag) else { return };
        if session.peer != from || offer.kind != Kind::More {
            return;
        }
        if session.asked && !session.answered {
            session.keep_early(offer);
            return;
        }
        // Candidates of an earlier agent are of no use to a restarted one.
        let ice = session.searching();
        if ice.remote_credentials() == Some(&offer.credentials) {
            for candidate in &offer.candidates {
                ice.add_remote(candidate);
            }
            ice.handle_timeout(now);
            self.permit(now, offer.tag);
        }
    }

    /// Whether a host may open a session; refuses it if not.
    fn admits(&mut self, via: (usize, IntroductionId), from: &PublicKey) -> bool {
        let code = if !self.config.allow.admits(from) {
            self.events.push_back(Event::NotAllowed { peer: *from });
            Refused::FORBIDDEN
        } else if self.sessions.len() >= super::SESSIONS_MAX {
            Refused::FULL
        } else {
            return true;
        };
        self.servers[via.0].refuse(via.1, code);
        false
    }

    /// Accepts an offer: a new session, or a restart of one.
    fn accept(
        &mut self,
        now: Time,
        (server, introduction): (usize, IntroductionId),
        from: PublicKey,
        offer: &Offer,
    ) {
        let tag = offer.tag;
        let repeated = self.sessions.get(&tag).is_some_and(|one| one.introduction == introduction);
        if !repeated {
            self.renew_relays_of_lost(now, tag);
            let ice = self.new_ice(false);
            if let Some(session) = self.sessions.get_mut(&tag) {
                session.restart = Some(ice);
                (session.server, session.introduction) = (server, introduction);
            } else {
                let via = (server, introduction);
                self.sessions.insert(tag, Session::new(now, from, false, ice, via));
                self.events.push_back(Event::Opened { tag, peer: from, asked: false });
            }
            self.start_checks(now, tag, &offer.credentials, &offer.candidates);
        }
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        session.answered = true;
        let answer = match repeated {
            true => session.repeated(tag, Kind::Answer),
            false => session.offer(tag, Kind::Answer),
        };
        self.servers[server].answer(introduction, answer.encode());
        self.want_relays(now);
    }

    fn handle_answer(&mut self, now: Time, introduction: IntroductionId, body: &[u8]) {
        let Ok(offer) = Offer::decode(body) else { return };
        let Some(session) = self.sessions.get_mut(&offer.tag) else { return };
        let awaited = session.introduction == introduction && !session.answered;
        if !awaited || offer.kind != Kind::Answer {
            return;
        }
        session.answered = true;
        if session.state == SessionState::Introducing {
            session.enter(now, SessionState::Searching);
        }
        let mut candidates = offer.candidates;
        candidates.extend(session.take_early(&offer.credentials));
        self.start_checks(now, offer.tag, &offer.credentials, &candidates);
    }

    fn start_checks(&mut self, now: Time, tag: u32, remote: &IceCreds, candidates: &[Sent]) {
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        let ice = session.searching();
        ice.set_remote_credentials(remote.clone());
        for candidate in candidates {
            ice.add_remote(candidate);
        }
        ice.handle_timeout(now);
        self.permit(now, tag);
    }

    fn handle_failure(&mut self, now: Time, introduction: IntroductionId, code: Option<u16>) {
        let of_this = |(_, one): &(&u32, &mut Session)| one.introduction == introduction;
        let Some((tag, session)) = self.sessions.iter_mut().find(of_this) else { return };
        let tag = *tag;
        // A session that had a path asks again: the peer may only be away for a moment.
        if session.restart.is_some() {
            session.next_restart = now + RETRY_AFTER_REFUSAL;
            return;
        }
        if session.answered {
            return;
        }
        let reason = match code {
            Some(Refused::FORBIDDEN) => CloseReason::NotAllowed,
            Some(Refused::NOT_FOUND) => CloseReason::NotRegistered,
            Some(code) => CloseReason::Refused(code),
            // The rendezvous or the peer is silent. A stream may still be opened.
            None => return self.send_offer(now, tag),
        };
        self.end(tag, reason);
    }
}
