//! Introductions: this host's own, and those of other hosts.

use super::{CloseReason, Event, Host};
use crate::session::offer::{Kind, Malformed, Offer, Sent};
use crate::session::one_session::{
    Exchange, IntroductionId, RETRY_AFTER_REFUSAL, Session, SessionState,
};
use crate::session::server::{Server, ServerEvent};
use is::IceCreds;
use std::net::IpAddr;
use windlass_base::{Time, special};
use windlass_identity::PublicKey;
use windlass_rendezvous::client::Failure;
use windlass_rendezvous::message::Refused;

/// The tag belongs to another session.
const TAG_IN_USE: u16 = Refused::CONFLICT;

impl Host {
    /// Begins a session with `peer`: the first introduction.
    pub(super) fn ask(&mut self, now: Time, tag: u32, peer: PublicKey) {
        let ice = self.new_ice(true);
        self.sessions.insert(tag, Session::new(now, peer, true, ice, Vec::new()));
        self.send_offers(now, tag);
        self.want_relays(now);
    }

    /// Introduces this host again, because the session has lost its path: an ICE restart
    /// (RFC 8445 §9).
    pub(super) fn ask_again(&mut self, now: Time, tag: u32) {
        self.renew_relays_of_lost(now, tag);
        let ice = self.new_ice(true);
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        session.restart = Some(ice);
        session.answered = false;
        session.note_attempt(now);
        self.send_offers(now, tag);
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

    /// Asks every rendezvous for the peer, side by side: one may be dead, and the peer registered at
    /// another.
    fn send_offers(&mut self, now: Time, tag: u32) {
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        for Exchange { server, introduction, .. } in session.exchanges.drain(..) {
            // An answer to an earlier offer would name an agent that is gone.
            self.servers[server].forget(introduction);
        }
        let body = session.offer(tag, Kind::Offer).encode();
        for (number, server) in self.servers.iter_mut().enumerate() {
            let introduction = server.introduce(now, session.peer, body.clone());
            session.exchanges.push(Exchange::offered(number, introduction));
        }
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
            ServerEvent::WrongKey { expected, found } => {
                self.events.push_back(Event::WrongKey { server, expected, found });
            }
            ServerEvent::Asked { introduction, from, body } => {
                self.handle_asked(now, (server, introduction), from, &body);
            }
            ServerEvent::Answered { introduction, body } => {
                self.handle_answer(now, introduction, &body);
            }
            ServerEvent::More { from, body } => self.handle_more(now, from, &body),
            ServerEvent::Failed { introduction, code } => {
                let failure = code.map_or(Failure::Silent, Failure::Refused);
                self.handle_failure(now, introduction, failure);
            }
        }
    }

    /// A rendezvous sees this host at an address: every session may use it.
    fn share_reflexive(&mut self, now: Time, server: usize) {
        // The user hides this host's addresses from peers.
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
            if !session.asked || session.answered {
                continue;
            }
            let at_server = session.exchanges.iter().find(|one| one.server == server);
            if let Some(Exchange { introduction, .. }) = at_server.cloned() {
                let body = || session.offer(*tag, Kind::Offer).encode();
                self.servers[server].revise(now, introduction, body);
            }
        }
    }

    /// Reads what another host sends. Candidates at which no peer can be are left out: an allowed host
    /// could otherwise make this one send to its own services, or to many hosts at once.
    fn read(&self, body: &[u8]) -> Result<Offer, Malformed> {
        let mut offer = Offer::decode(body)?;
        offer.candidates.retain(|one| self.can_be_peer(one.address.ip()));
        Ok(offer)
    }

    fn can_be_peer(&self, ip: IpAddr) -> bool {
        let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
        // Behind a rendezvous on this host, the peer is on it too.
        let is_here = || self.servers.iter().any(|one| is_loopback(one.address().ip()));
        special::can_be_peer(ip) || is_loopback(ip) && is_here()
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
        let Ok(offer) = self.read(body) else {
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
        let Ok(offer) = self.read(body) else { return };
        let Some(session) = self.sessions.get_mut(&offer.tag) else { return };
        if session.peer != from || offer.kind != Kind::More {
            return;
        }
        if session.asked && !session.answered {
            session.buffer_candidates(offer);
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
        let exchange = Exchange::accepted(server, introduction);
        // It came through a slower rendezvous: the peer has begun another attempt since.
        if self.sessions.get(&tag).is_some_and(|one| one.is_past(&offer.credentials)) {
            return self.servers[server].refuse(introduction, Refused::CONFLICT);
        }
        // Through another rendezvous, or because the peer had no answer for long.
        let repeated = self
            .sessions
            .get_mut(&tag)
            .is_some_and(|one| one.searching().remote_credentials() == Some(&offer.credentials));
        if !repeated {
            self.renew_relays_of_lost(now, tag);
            let mut ice = self.new_ice(false);
            ice.hold(now);
            if let Some(session) = self.sessions.get_mut(&tag) {
                session.restart_with(ice, exchange);
            } else {
                let session = Session::new(now, from, false, ice, vec![exchange]);
                self.sessions.insert(tag, session);
                self.events.push_back(Event::Opened { tag, peer: from, asked: false });
            }
            self.open_own_nat(&offer.candidates);
            self.start_checks(now, tag, &offer.credentials, &offer.candidates);
        } else if let Some(session) = self.sessions.get_mut(&tag)
            && session.exchanges.iter().all(|one| one.introduction != introduction)
        {
            session.exchanges.push(exchange);
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
        let Ok(offer) = self.read(body) else { return };
        let Some(session) = self.sessions.get_mut(&offer.tag) else { return };
        let is_this = |one: &Exchange| one.introduction == introduction;
        // The first answer counts. Others come through slower rendezvous.
        let awaited = session.exchanges.iter().any(is_this) && !session.answered;
        if !awaited || offer.kind != Kind::Answer {
            return;
        }
        session.answered = true;
        for exchange in &mut session.exchanges {
            exchange.is_open = is_this(exchange);
            if !exchange.is_open {
                self.servers[exchange.server].withdraw(exchange.introduction);
            }
        }
        if session.state == SessionState::Introducing {
            session.enter(now, SessionState::Searching);
        }
        let mut candidates = offer.candidates;
        candidates.extend(session.take_buffered_candidates(&offer.credentials));
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

    fn handle_failure(&mut self, now: Time, introduction: IntroductionId, failure: Failure) {
        let found = self.sessions.iter_mut().find_map(|(tag, session)| {
            let mut all = session.exchanges.iter();
            let at = all.position(|one| one.introduction == introduction)?;
            Some((*tag, session, at))
        });
        let Some((tag, session, at)) = found.filter(|(_, session, _)| !session.answered) else {
            return;
        };
        if failure == Failure::Silent && session.restart.is_none() {
            // The rendezvous or the peer is silent. A stream may still be opened.
            let body = session.offer(tag, Kind::Offer).encode();
            let exchange = &mut session.exchanges[at];
            let server = &mut self.servers[exchange.server];
            exchange.introduction = server.introduce(now, session.peer, body);
            return;
        }
        session.exchanges[at].failure = Some(failure);
        // A session that had a path asks again: the peer may only be away for a moment.
        if session.restart.is_some() && session.exchanges.iter().all(|one| one.failure.is_some()) {
            session.next_restart = now + RETRY_AFTER_REFUSAL;
        }
    }

    /// Why no rendezvous can introduce the hosts of a session; `None` while one still may, or if none
    /// has answered at all.
    pub(super) fn refusal(&self, session: &Session) -> Option<CloseReason> {
        let mut reasons = Vec::new();
        for exchange in session.exchanges.iter().filter(|_| !session.answered) {
            let server = &self.servers[exchange.server];
            match (exchange.failure, server.wrong_key()) {
                (Some(Failure::Refused(code)), _) => reasons.push(reason(code)),
                (Some(Failure::Silent), _) => reasons.push(CloseReason::NoAnswer),
                (None, Some((expected, found))) => {
                    reasons.push(CloseReason::WrongKey { expected, found });
                }
                (None, None) if server.is_unreachable() => {}
                (None, None) => return None,
            }
        }
        // The peer's own answer explains most, then a rendezvous that knows the peer.
        reasons.into_iter().min_by_key(|reason| match reason {
            CloseReason::NotAllowed => 0,
            CloseReason::Refused(_) | CloseReason::NoAnswer => 1,
            CloseReason::NotRegistered => 2,
            _ => 3,
        })
    }
}

fn reason(code: u16) -> CloseReason {
    match code {
        Refused::FORBIDDEN => CloseReason::NotAllowed,
        Refused::NOT_FOUND => CloseReason::NotRegistered,
        code => CloseReason::Refused(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ice::credentials;
    use crate::session::offer::CandidateType;
    use crate::session::{Allow, HostConfig};
    use std::collections::BTreeSet;
    use std::net::SocketAddr;
    use windlass_base::{Rng, Span};
    use windlass_identity::SecretKey;

    const TAG: u32 = 7;

    fn host(rendezvous: &str) -> Host {
        let mut rng = Rng::new(1);
        let config = HostConfig {
            key: SecretKey::from_seed([1; 32]),
            instance: [1; 16],
            allow: Allow::Anyone,
            relay_only: false,
            outage_max: Span::from_secs(900),
            source_for: Box::new(|_| None),
            random: Box::new(move |bytes| bytes.fill_with(|| rng.below(256) as u8)),
        };
        let mut host = Host::new(config, 7000);
        let own = ["192.0.2.1", "2001:db8::1"].map(|ip| ip.parse().expect("an address"));
        host.set_addresses(Time::ZERO, own);
        host.add_rendezvous(Time::ZERO, rendezvous.parse().expect("an address"), None);
        host
    }

    fn body(kind: Kind, addresses: &[&str]) -> Vec<u8> {
        let sent = |kind, address: &&str| Sent {
            kind,
            priority: 9,
            address: SocketAddr::new(address.parse().expect("an address"), 9000),
        };
        let kinds = [CandidateType::Host, CandidateType::ServerReflexive, CandidateType::Relayed];
        let candidates = addresses.iter().zip(kinds.into_iter().cycle());
        let candidates = candidates.map(|(address, kind)| sent(kind, address)).collect();
        Offer { kind, tag: TAG, credentials: credentials([2; 32]), candidates }.encode()
    }

    /// The host is asked by a peer with some of these addresses, and hears of the others later. Returns
    /// the addresses to which it sends within some seconds, the rendezvous apart.
    fn sent_to(host: &mut Host, addresses: &[&str]) -> BTreeSet<IpAddr> {
        let peer = SecretKey::from_seed([2; 32]).public_key();
        let (first, later) = addresses.split_at(addresses.len() / 2);
        let mut now = Time::ZERO;
        host.handle_asked(now, (0, [3; 16]), peer, &body(Kind::Offer, first));
        host.handle_more(now, peer, &body(Kind::More, later));
        let mut sent = BTreeSet::new();
        while now < Time::ZERO + Span::from_secs(5) {
            host.handle_timeout(now);
            while let Some(outgoing) = host.poll_transmit() {
                sent.insert(outgoing.to);
            }
            now += Span::from_millis(5);
        }
        sent.retain(|to| host.servers.iter().all(|server| server.address() != *to));
        sent.into_iter().map(|to| to.ip()).collect()
    }

    #[test]
    fn no_check_goes_where_no_peer_can_be() {
        let none = [
            "224.0.0.251",
            "255.255.255.255",
            "127.0.0.1",
            "240.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "::ffff:127.0.0.1",
            "ff02::1",
            "::1",
            "fe80::1",
            "::",
            "64:ff9b::127.0.0.1",
        ];
        let peers = ["198.51.100.7", "192.168.1.7", "2001:db8::7", "fd00::7"];
        let mut host = host("192.0.2.9:3478");
        let sent = sent_to(&mut host, &[&none[..6], &peers, &none[6..]].concat());
        assert_eq!(sent, peers.map(|ip| ip.parse().expect("an address")).into());
    }

    /// Two hosts on one machine, without another address.
    #[test]
    fn with_a_rendezvous_on_this_host_the_peer_is_there_too() {
        let mut host = host("127.0.0.1:3478");
        let sent = sent_to(&mut host, &["127.0.0.1", "224.0.0.1"]);
        assert_eq!(sent, ["127.0.0.1".parse().expect("an address")].into());
    }
}
