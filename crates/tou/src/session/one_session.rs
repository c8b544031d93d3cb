//! One session: its peer, its ICE agent, its path and its end.

use super::ice::{Ice, Pair};
use super::offer::{Kind, Offer, Sent};
use is::IceCreds;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use windlass_base::{Span, Time};
use windlass_identity::PublicKey;
use windlass_rendezvous::client::Failure;

/// How long the first search for a path may take.
const SEARCH_MAX: Span = Span::from_secs(30);
/// How long a session without connections is kept without a path.
const LOST_MAX: Span = Span::from_secs(60);
/// How long a session with connections is kept without a path by default: as long as TCP's own
/// timeouts.
pub(super) const OUTAGE_MAX: Span = Span::from_secs(900);
/// How long an attempt to restart ICE may take before the next one begins.
const RESTART_INTERVAL: Span = Span::from_secs(10);
/// The time until the next attempt after the rendezvous or the peer refused one, or did not answer.
pub(super) const RETRY_AFTER_REFUSAL: Span = Span::from_secs(1);
/// Changes of candidates are collected for this long before they are sent.
const TRICKLE_DELAY: Span = Span::from_millis(5);

/// How long a session uses a relay until the hosts look for a direct path again. Doubles with each
/// attempt, up to a limit.
const UPGRADE_WAIT_MIN: Span = Span::from_secs(10);
const UPGRADE_WAIT_MAX: Span = Span::from_secs(160);

/// The largest number of messages with candidates that wait for the answer that they belong to.
const BUFFERED_MAX: usize = 8;
/// Earlier attempts of the peer that are remembered.
const PAST_MAX: usize = 16;

/// Identifies an exchange through the rendezvous.
pub(super) type IntroductionId = [u8; 16];

/// Where a session stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// The rendezvous introduces the hosts to each other.
    Introducing,
    /// The hosts look for a path.
    Searching,
    /// Datagrams travel.
    Connected,
    /// The path is lost. The hosts look for another one.
    Lost,
}

/// A change of a session's path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum PathNews {
    /// There was none.
    Found,
    /// There was another one.
    Changed,
    Lost,
}

/// One attempt of two hosts to exchange their candidates, at one rendezvous.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The number of the rendezvous.
    pub(super) server: usize,
    pub(super) introduction: IntroductionId,
    /// Both hosts know the introduction, so that candidates may follow.
    pub(super) is_open: bool,
    pub(super) failure: Option<Failure>,
}

impl Exchange {
    /// An offer of this host.
    pub(super) fn offered(server: usize, introduction: IntroductionId) -> Exchange {
        Exchange { server, introduction, is_open: false, failure: None }
    }

    /// An offer of the peer.
    pub(super) fn accepted(server: usize, introduction: IntroductionId) -> Exchange {
        Exchange { is_open: true, ..Exchange::offered(server, introduction) }
    }
}

pub(super) struct Session {
    pub(super) peer: PublicKey,
    /// This host asked for the session.
    pub(super) asked: bool,
    pub(super) ice: Ice,
    /// The agent of a restart that has no path yet. The old path stays in use meanwhile.
    pub(super) restart: Option<Ice>,
    /// The hosts meet at every rendezvous that both use; the first answer counts.
    pub(super) exchanges: Vec<Exchange>,
    /// The user name fragments of the peer's earlier attempts. One may arrive late, through a slower
    /// rendezvous.
    past: BTreeSet<String>,
    pub(super) state: SessionState,
    pub(super) path: Option<Pair>,
    /// The last path, which may be lost, is another one than the path before: not only by its ports.
    pub(super) is_on_new_path: bool,
    last_path: Option<Pair>,
    /// When the current state began.
    pub(super) since: Time,
    pub(super) next_restart: Time,
    /// The next attempt to find a path without a relay, while there is one with a relay.
    upgrade_at: Option<Time>,
    upgrade_wait: Span,
    /// The candidates that were sent to the peer.
    sent_candidates: BTreeSet<SocketAddr>,
    pub(super) trickle_at: Option<Time>,
    /// Candidates that arrived before the answer that they belong to.
    buffered_offers: Vec<Offer>,
    /// The peer has answered, so that candidates may follow.
    pub(super) answered: bool,
    /// The session has connections.
    pub(super) in_use: bool,
    /// The number of the next connection that this host opens.
    next_number: u32,
}

impl Session {
    pub(super) fn new(
        now: Time,
        peer: PublicKey,
        asked: bool,
        ice: Ice,
        exchanges: Vec<Exchange>,
    ) -> Session {
        let state = if asked { SessionState::Introducing } else { SessionState::Searching };
        Session {
            peer,
            asked,
            ice,
            restart: None,
            exchanges,
            past: BTreeSet::new(),
            state,
            path: None,
            is_on_new_path: false,
            last_path: None,
            since: now,
            next_restart: now,
            upgrade_at: None,
            upgrade_wait: UPGRADE_WAIT_MIN,
            sent_candidates: BTreeSet::new(),
            trickle_at: None,
            buffered_offers: Vec::new(),
            answered: !asked,
            in_use: false,
            // The two hosts use odd and even numbers, so that they never choose the same one.
            next_number: u32::from(asked),
        }
    }

    /// The peer begins another attempt.
    pub(super) fn restart_with(&mut self, ice: Ice, exchange: Exchange) {
        let earlier = self.searching().remote_credentials().map(|one| one.ufrag.clone());
        // A peer that restarts often fills no more memory.
        if self.past.len() >= PAST_MAX {
            self.past.pop_first();
        }
        self.past.extend(earlier);
        self.restart = Some(ice);
        self.exchanges = vec![exchange];
    }

    /// Whether the peer has begun another attempt since the one with these credentials.
    pub(super) fn is_past(&self, credentials: &IceCreds) -> bool {
        self.past.contains(&credentials.ufrag)
    }

    /// The agent that is looking for a path.
    pub(super) fn searching(&mut self) -> &mut Ice {
        self.restart.as_mut().unwrap_or(&mut self.ice)
    }

    /// The addresses that datagrams travel between. A host that was asked answers on the pair of the
    /// last check until one is selected: the other host selects first, and its SYN would get no
    /// answer otherwise.
    pub(super) fn route(&self) -> Option<Pair> {
        let checked_on = || {
            let restart = self.restart.as_ref().and_then(Ice::checked_on);
            restart.or_else(|| self.ice.checked_on()).filter(|_| !self.asked)
        };
        self.path.or_else(checked_on)
    }

    pub(super) fn take_number(&mut self) -> u32 {
        let number = self.next_number;
        self.next_number = number.wrapping_add(2);
        number
    }

    pub(super) fn enter(&mut self, now: Time, state: SessionState) {
        if self.state != state {
            (self.state, self.since) = (state, now);
        }
    }

    /// When the session ends if it finds no path before. With connections it may be without a path
    /// for `outage_max`.
    pub(super) fn give_up_at(&self, outage_max: Span) -> Option<Time> {
        let patience = match self.state {
            // The host that was asked may have answered on a path that it had not selected yet.
            SessionState::Searching if self.in_use && !self.asked => outage_max,
            SessionState::Introducing | SessionState::Searching => SEARCH_MAX,
            SessionState::Lost if self.in_use => outage_max,
            SessionState::Lost => LOST_MAX,
            SessionState::Connected => return None,
        };
        Some(self.since + patience)
    }

    /// The message with this host's candidates, all of them. The peer then knows them.
    pub(super) fn offer(&mut self, tag: u32, kind: Kind) -> Offer {
        let offer = self.repeated(tag, kind);
        self.trickle_at = None;
        self.sent_candidates = offer.candidates.iter().map(|sent| sent.address).collect();
        offer
    }

    /// The same message once more. The peer ignores it if it has the first one, so candidates that are
    /// new since then still wait to be sent.
    pub(super) fn repeated(&self, tag: u32, kind: Kind) -> Offer {
        let ice = self.restart.as_ref().unwrap_or(&self.ice);
        let candidates = ice.candidates().0;
        Offer { kind, tag, credentials: ice.credentials().clone(), candidates }
    }

    /// The candidates that the peer does not know yet, when it is time to send them.
    pub(super) fn news(&mut self, now: Time, tag: u32) -> Option<Offer> {
        if !self.answered || self.trickle_at.is_none_or(|at| at > now) {
            return None;
        }
        self.trickle_at = None;
        let ice = self.restart.as_ref().unwrap_or(&self.ice);
        let unknown = |sent: &Sent| !self.sent_candidates.contains(&sent.address);
        let candidates: Vec<_> = ice.candidates().0.into_iter().filter(unknown).collect();
        if candidates.is_empty() {
            return None;
        }
        self.sent_candidates.extend(candidates.iter().map(|sent| sent.address));
        Some(Offer { kind: Kind::More, tag, credentials: ice.credentials().clone(), candidates })
    }

    /// Keeps candidates of the peer until its answer arrives: the network may have reordered them.
    pub(super) fn buffer_candidates(&mut self, offer: Offer) {
        if self.buffered_offers.len() < BUFFERED_MAX {
            self.buffered_offers.push(offer);
        }
    }

    /// Takes the buffered candidates of the agent with these credentials.
    pub(super) fn take_buffered_candidates(&mut self, credentials: &IceCreds) -> Vec<Sent> {
        let offers = std::mem::take(&mut self.buffered_offers).into_iter();
        let of_agent = offers.filter(|offer| offer.credentials == *credentials);
        of_agent.flat_map(|offer| offer.candidates).collect()
    }

    /// A candidate was added: the peer gets it soon.
    pub(super) fn note_news(&mut self, now: Time) {
        self.trickle_at.get_or_insert(now + TRICKLE_DELAY);
    }

    /// Takes the path that the agents have selected, and returns what became of it.
    pub(super) fn update_path(&mut self, now: Time) -> Option<PathNews> {
        let had_path = self.path.is_some();
        if !self.take_selected(now) {
            return None;
        }
        Some(match (had_path, self.path.is_some()) {
            (_, false) => PathNews::Lost,
            (false, true) => PathNews::Found,
            (true, true) => PathNews::Changed,
        })
    }

    /// True if the path is another one now.
    fn take_selected(&mut self, now: Time) -> bool {
        if let Some(pair) = self.restart.as_ref().and_then(Ice::selected) {
            // RFC 8445 §9: the earlier agent serves until the restarted one has a path.
            self.ice = self.restart.take().expect("it has a path");
            let is_new = self.path != Some(pair);
            self.set_path(now, Some(pair));
            return is_new;
        }
        let selected = self.ice.selected();
        if selected == self.path || (selected.is_none() && self.path.is_none()) {
            return false;
        }
        self.set_path(now, selected);
        true
    }

    /// When the host that asked for the session restarts ICE.
    pub(super) fn next_attempt(&self) -> Option<Time> {
        match self.state {
            SessionState::Lost => Some(self.next_restart),
            SessionState::Connected => self.upgrade_at,
            SessionState::Introducing | SessionState::Searching => None,
        }
    }

    /// Notes whether the path has a relay. If so, a direct one is looked for from time to time.
    pub(super) fn note_relayed(&mut self, now: Time, relayed: bool) {
        if !relayed {
            (self.upgrade_at, self.upgrade_wait) = (None, UPGRADE_WAIT_MIN);
        } else if self.upgrade_at.is_none() {
            self.upgrade_at = Some(now + self.upgrade_wait);
        }
    }

    /// An attempt begins.
    pub(super) fn note_attempt(&mut self, now: Time) {
        self.next_restart = now + RESTART_INTERVAL;
        self.upgrade_wait = (self.upgrade_wait * 2).min(UPGRADE_WAIT_MAX);
        self.upgrade_at = Some(now + self.upgrade_wait);
    }

    fn set_path(&mut self, now: Time, path: Option<Pair>) {
        self.path = path;
        if let Some(new) = path {
            // RFC 9000 §9.4: a NAT may change ports, which leaves the path as it was.
            let ips = |pair: Pair| (pair.local.ip(), pair.remote.ip());
            self.is_on_new_path = self.last_path.is_some_and(|old| ips(old) != ips(new));
            self.last_path = path;
        }
        let state = if path.is_some() { SessionState::Connected } else { SessionState::Lost };
        self.enter(now, state);
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Time> {
        let restart = self.restart.as_mut().and_then(Ice::poll_timeout);
        let renewal = self.next_attempt().filter(|_| self.asked);
        let trickle = self.trickle_at.filter(|_| self.answered);
        [self.ice.poll_timeout(), restart, renewal, trickle].into_iter().flatten().min()
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        for ice in std::iter::once(&mut self.ice).chain(&mut self.restart) {
            if ice.poll_timeout().is_none_or(|at| at <= now) {
                ice.handle_timeout(now);
            }
        }
        // It has tried every pair. Without a path the next attempt begins at once.
        if self.restart.as_ref().is_some_and(Ice::has_failed) {
            self.next_restart = self.next_restart.min(now);
            if self.path.is_some() {
                self.restart = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ice::{Clock, credentials};
    use std::net::SocketAddr;

    #[test]
    fn a_repeated_answer_leaves_new_candidates_to_be_sent() {
        let at = |last| SocketAddr::from(([192, 0, 2, last], 7000));
        let peer = windlass_identity::SecretKey::from_seed([7; 32]).public_key();
        let mut ice = Ice::new(Clock::new(), false, credentials([1; 32]), 1);
        ice.add_local(at(1)).expect("a candidate");
        let exchanges = vec![Exchange::accepted(0, [0; 16])];
        let mut session = Session::new(Time::ZERO, peer, false, ice, exchanges);
        session.answered = true;
        assert_eq!(session.offer(1, Kind::Answer).candidates.len(), 1);

        session.ice.add_relayed(at(9), at(1)).expect("a candidate");
        session.note_news(Time::ZERO);
        // The network has repeated the offer, and the peer has the first answer already.
        assert_eq!(session.repeated(1, Kind::Answer).candidates.len(), 2);
        let news = session.news(Time::ZERO + TRICKLE_DELAY, 1).expect("the relay is news");
        assert_eq!(news.candidates[0].address, at(9));
    }
}
