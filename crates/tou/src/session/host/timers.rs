//! Time, and what follows from any change: calls that change a host end in `Host::update`.

use super::relays::UNUSED_MAX;
use super::{CloseReason, Event, Host, Outgoing};
use crate::session::ice::Check;
use crate::session::offer::{CandidateType, Sent};
use crate::session::one_session::{PathNews, SessionState};
use crate::session::server::Channel;
use windlass_base::Time;

/// The time to live of a datagram that passes this host's own NAT and ends at the next router.
const NEAR_TTL: u8 = 2;

impl Host {
    /// When to call [`Host::handle_timeout`]; `None` if nothing is going on.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn next_deadline(&mut self) -> Option<Time> {
        let servers = self.servers.iter().map(|server| server.poll_timeout());
        let relays = self.relays.iter().filter_map(|relay| relay.poll_timeout());
        let fixed = servers.chain(relays).min();
        let limits = self.next_limit();
        let held = self.held.front().map(|(at, _)| *at);
        let sessions = self.sessions.values_mut().filter_map(|session| session.poll_timeout());
        sessions.chain(fixed).chain(limits).chain(held).min()
    }

    /// When the next session has looked for a path for too long, or relays are no longer needed.
    fn next_limit(&self) -> Option<Time> {
        let sessions = self.sessions.values();
        let sessions = sessions.filter_map(|one| one.give_up_at(self.config.outage_max));
        let held = self.relays.iter().any(|relay| !relay.is_released());
        let relays = held && !self.needs_relays();
        sessions.chain(relays.then(|| self.relays_used + UNUSED_MAX)).min()
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        for index in 0..self.servers.len() {
            self.servers[index].handle_timeout(now);
            self.take_server_events(now, index);
        }
        for relay in &mut self.relays {
            relay.handle_timeout(now);
        }
        for session in self.sessions.values_mut() {
            session.handle_timeout(now);
        }
        self.update(now);
    }

    /// Draws the consequences of a change.
    pub(super) fn update(&mut self, now: Time) {
        self.update_relays(now);
        self.update_paths(now);
        self.send_news(now);
        self.collect_transmits(now);
        self.drop_streams();
        self.deadline = self.next_deadline();
    }

    pub(super) fn update_paths(&mut self, now: Time) {
        let mut changed = Vec::new();
        for (tag, session) in &mut self.sessions {
            changed.extend(session.update_path(now).map(|news| (*tag, news)));
        }
        for (tag, news) in changed {
            self.events.push_back(match news {
                PathNews::Found => Event::PathFound { tag },
                PathNews::Changed => Event::PathChanged { tag },
                PathNews::Lost => Event::PathLost { tag },
            });
            if news == PathNews::Lost {
                self.refresh_servers(now);
            }
            self.bind_channel(now, tag);
        }
        self.note_relayed(now);
        self.renew_lost(now);
        self.end_hopeless(now);
    }

    /// The path may have been lost because a NAT or a rendezvous has restarted. A host must be registered
    /// with its present address, so that others find it again.
    fn refresh_servers(&mut self, now: Time) {
        for server in &mut self.servers {
            server.refresh(now);
        }
    }

    fn note_relayed(&mut self, now: Time) {
        let relayed: Vec<_> = self
            .sessions
            .values()
            .map(|session| session.path.is_some_and(|path| self.may_be_relayed(session, path)))
            .collect();
        for (session, relayed) in self.sessions.values_mut().zip(relayed) {
            session.note_relayed(now, relayed);
        }
    }

    /// The host that asked for a session restarts ICE when the path is lost, and now and then while
    /// it has a relay.
    fn renew_lost(&mut self, now: Time) {
        let due = |session: &super::Session| {
            session.asked && session.next_attempt().is_some_and(|at| at <= now)
        };
        let lost: Vec<_> =
            self.sessions.iter().filter(|(_, one)| due(one)).map(|(tag, _)| *tag).collect();
        for tag in lost {
            self.ask_again(now, tag);
        }
    }

    /// Ends sessions that have looked for a path for too long.
    fn end_hopeless(&mut self, now: Time) {
        let mut hopeless = Vec::new();
        for (tag, session) in &self.sessions {
            let introducing = session.state == SessionState::Introducing;
            if let Some(reason) = self.refusal(session).filter(|_| introducing) {
                hopeless.push((*tag, reason));
                continue;
            }
            if session.give_up_at(self.config.outage_max).is_none_or(|at| at > now) {
                continue;
            }
            let reason = match session.state {
                SessionState::Introducing => self.reason_of_silence(session),
                SessionState::Searching => CloseReason::NoPath,
                _ => CloseReason::Lost,
            };
            hopeless.push((*tag, reason));
        }
        // A server that has restarted has lost its allocations, and ignores what is sent through them.
        let without_path = |reason| matches!(reason, CloseReason::NoPath | CloseReason::Lost);
        let renew = hopeless.iter().any(|(_, reason)| without_path(*reason));
        for (tag, reason) in hopeless {
            self.end(tag, reason);
        }
        if renew {
            self.renew_relays(now);
        }
    }

    /// Why a session was not introduced in time.
    fn reason_of_silence(&self, session: &super::Session) -> CloseReason {
        let mut servers = session.exchanges.iter().map(|one| &self.servers[one.server]);
        match servers.any(|server| server.answers()) {
            true => CloseReason::NoAnswer,
            false => CloseReason::NoRendezvous,
        }
    }

    /// Notes whether a session has connections: such a session is kept longer without a path.
    pub fn set_in_use(&mut self, tag: u32, in_use: bool) {
        if let Some(session) = self.sessions.get_mut(&tag) {
            session.in_use = in_use;
        }
        self.deadline = self.next_deadline();
    }

    pub(super) fn end(&mut self, tag: u32, reason: CloseReason) {
        if let Some(session) = self.sessions.remove(&tag) {
            for exchange in session.exchanges {
                self.servers[exchange.server].forget(exchange.introduction);
            }
            self.events.push_back(Event::Closed { tag, reason });
        }
    }

    /// Sends candidates that were found after the offer or the answer.
    fn send_news(&mut self, now: Time) {
        for (tag, session) in &mut self.sessions {
            if let Some(news) = session.news(now, *tag) {
                for exchange in session.exchanges.iter().filter(|one| one.is_open) {
                    let server = &mut self.servers[exchange.server];
                    server.send_more(now, exchange.introduction, news.encode());
                }
            }
        }
    }

    /// Collects what servers, relays and agents want to send.
    fn collect_transmits(&mut self, now: Time) {
        for server in &mut self.servers {
            let (channel, to) = (server.channel(), server.address());
            // Until its name is resolved a rendezvous has no address.
            let is_known = channel != Channel::Udp || !to.ip().is_unspecified();
            while let Some(bytes) = server.poll_transmit() {
                let outgoing = Outgoing::plain(channel, to, bytes);
                self.transmits.extend(Some(outgoing).filter(|_| is_known));
            }
            if let Some(bytes) = server.poll_probe(now).filter(|_| !to.ip().is_unspecified()) {
                self.transmits.push_back(Outgoing::plain(Channel::Udp, to, bytes));
            }
        }
        self.collect_checks(now);
        for relay in &mut self.relays {
            let (channel, to) = (relay.service().channel, relay.service().server);
            while let Some(bytes) = relay.poll_transmit(now) {
                self.transmits.push_back(Outgoing::plain(channel, to, bytes));
            }
        }
    }

    fn collect_checks(&mut self, now: Time) {
        while self.held.front().is_some_and(|(at, _)| *at <= now) {
            self.transmits.extend(self.held.pop_front().map(|(_, check)| check));
        }
        let mut checks: Vec<(Check, Option<Time>)> = Vec::new();
        for session in self.sessions.values_mut() {
            for ice in std::iter::once(&mut session.ice).chain(&mut session.restart) {
                while let Some(check) = ice.poll_transmit() {
                    let held = ice.held_until(now, check.pair.remote);
                    checks.push((check, held));
                }
            }
        }
        for (check, held) in checks {
            let (pair, is_request) = (check.pair, check.is_request());
            // The pair begins at a relay: it sends the check (RFC 8656 §11).
            if !self.is_own(pair.local) {
                let outgoing = self.send_through(now, pair.local, pair.remote, &check.bytes);
                self.transmits.extend(outgoing);
                continue;
            }
            // The peer would see it from another address than this one.
            if is_request && !self.is_source_for(pair.local.ip(), pair.remote.ip()) {
                continue;
            }
            let (local, bytes) = (Some(pair.local.ip()), check.bytes);
            let outgoing = Outgoing { local, ..Outgoing::plain(Channel::Udp, pair.remote, bytes) };
            // An answer does not wait: the peer's check has opened the way.
            match held.filter(|_| is_request) {
                Some(until) => self.held.push_back((until, outgoing)),
                None => self.transmits.push_back(outgoing),
            }
        }
    }

    /// Sends a datagram to each address of the peer behind a NAT that passes this host's own NAT and
    /// goes no further. The peer's checks then find the way open.
    pub(super) fn open_own_nat(&mut self, candidates: &[Sent]) {
        if self.config.relay_only {
            return;
        }
        let mut transaction = [0; 12];
        (self.config.random)(&mut transaction);
        // A Binding indication, which needs no answer (RFC 8489 §3).
        let bytes = [&[0, 0x11, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &transaction].concat();
        let behind_nat =
            |one: &&Sent| one.kind == CandidateType::ServerReflexive && one.address.is_ipv4();
        for to in candidates.iter().filter(behind_nat).map(|one| one.address) {
            for ip in self.local.iter().filter(|ip| ip.is_ipv4()) {
                if self.is_source_for(*ip, to.ip()) {
                    let plain = Outgoing::plain(Channel::Udp, to, bytes.clone());
                    self.transmits.push_back(Outgoing {
                        local: Some(*ip),
                        ttl: Some(NEAR_TTL),
                        ..plain
                    });
                }
            }
        }
    }

    /// Takes what is to be sent through streams, with the number of each stream.
    pub(crate) fn for_streams(&mut self, mut send: impl FnMut(usize, Vec<u8>)) {
        for outgoing in std::mem::take(&mut self.transmits) {
            match outgoing.channel {
                Channel::Stream(stream) => send(stream, outgoing.bytes),
                Channel::Udp => self.transmits.push_back(outgoing),
            }
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Outgoing> {
        self.transmits.pop_front()
    }
}
