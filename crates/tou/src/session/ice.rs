//! One ICE agent (RFC 8445) in the engine's time, and the pair of addresses that it selects. The crate
//! `is` has the protocol; this module holds checks back, and notices dead paths and peers that moved.

use super::offer::{CandidateType, Sent};
use is::stun::{StunMessage, StunPacket};
use is::{
    Candidate, CandidateKind, IceAgent, IceAgentEvent, IceConnectionState, IceCreds, Protocol,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};

/// The time between two checks of one agent, the shortest that RFC 8445 §14.2 allows.
const PACE: Duration = Duration::from_millis(5);
/// The longest time between two checks of a pair. They also renew consent, which RFC 7675 §5.1 lets
/// expire after 30 s, and they notice that a NAT has changed its mapping.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Checks of a pair without an answer until it has failed: about five seconds.
const CHECKS_MAX: usize = 6;
/// The selected address counts as abandoned when checks come from another address and none has come
/// from it for this long: the peer's NAT has changed its mapping.
const ABANDONED: Span = Span::from_millis(2500);
/// The same if the first check from the other address came after the last one from the selected address:
/// the peer has moved, or its NAT has another address. One lost check is repeated sooner.
const MOVED: Span = Span::from_millis(1300);
/// The selected path is dead when nothing authentic has come from the remote address for this long.
/// Both agents send a check every second.
const DEAD_AFTER: Span = Span::from_secs(5);
/// How long the host that was asked holds its checks back from an address behind a NAT. By then the
/// asking host has its answer and has sent a check of its own, unless the way through the rendezvous
/// is longer than the direct one by more than this.
const HOLD: Span = Span::from_millis(500);
/// Remote addresses whose last check is remembered.
const HEARD_MAX: usize = 64;
/// Addresses that were given up and are remembered.
const GIVEN_UP_MAX: usize = 64;
/// Addresses of the peer's relays that are remembered; a host has one for each server.
const REMOTE_RELAYS_MAX: usize = 16;

/// Converts between the engine's time and that of the agent.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock(Instant::now())
    }

    fn instant(self, time: Time) -> Instant {
        self.0 + Duration::from_nanos(time.as_nanos())
    }

    fn time(self, instant: Instant) -> Time {
        Time::from_nanos(instant.saturating_duration_since(self.0).as_nanos() as u64)
    }
}

/// Two addresses between which datagrams travel.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    /// An address of this host, or one of its relays.
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

/// A check to send, or the answer to one.
pub(crate) struct Check {
    pub(crate) pair: Pair,
    pub(crate) bytes: Vec<u8>,
}

impl Check {
    /// False for an answer.
    pub(crate) fn is_request(&self) -> bool {
        // The type of a Binding request (RFC 8489 §5).
        self.bytes.starts_with(&[0, 1])
    }
}

/// Credentials of an agent from 32 random bytes: the fragment has 48 bits, the password 144
/// (RFC 8445 §5.3: at least 24 and 128).
pub(crate) fn credentials(random: [u8; 32]) -> IceCreds {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |byte: &u8| char::from(LETTERS[usize::from(byte & 63)]);
    IceCreds {
        ufrag: random[..8].iter().map(letter).collect(),
        pass: random[8..].iter().map(letter).collect(),
    }
}

/// One run of ICE between two hosts. A restart is a new run.
pub(crate) struct Ice {
    agent: IceAgent,
    clock: Clock,
    selected: Option<Pair>,
    /// The pair that the agent has nominated last. It does not say so again after the pair was dead.
    nominated: Option<Pair>,
    /// The pair on which the peer's last check came.
    checked_on: Option<Pair>,
    /// When the first and the last check came from each remote address. After a silence of [`ABANDONED`]
    /// the next one is the first.
    heard: BTreeMap<SocketAddr, (Time, Time)>,
    /// When the peer, as the controlling agent, has last nominated each pair.
    nominations: BTreeMap<Pair, Time>,
    /// The addresses of the peer's relays, and of this host's.
    remote_relays: BTreeSet<SocketAddr>,
    local_relays: BTreeSet<SocketAddr>,
    /// Until then, checks are held back: see [`Ice::held_until`].
    hold: Time,
    /// Addresses of the peer that this host has stopped using. The agent ignores checks from them.
    given_up: BTreeMap<SocketAddr, Candidate>,
}

impl Ice {
    /// The controlling agent belongs to the host that asked for the session.
    pub(crate) fn new(clock: Clock, controlling: bool, credentials: IceCreds, tie: u64) -> Ice {
        let mut agent = IceAgent::new(credentials);
        agent.set_controlling(controlling);
        agent.set_control_tie_breaker(tie);
        agent.set_timing_advance(PACE);
        agent.set_max_stun_rto(CHECK_INTERVAL);
        agent.set_max_stun_retransmits(CHECKS_MAX);
        Ice {
            agent,
            clock,
            selected: None,
            nominated: None,
            checked_on: None,
            heard: BTreeMap::new(),
            nominations: BTreeMap::new(),
            remote_relays: BTreeSet::new(),
            local_relays: BTreeSet::new(),
            hold: Time::ZERO,
            given_up: BTreeMap::new(),
        }
    }

    /// This host answers an offer now: it leaves the first checks to the peer.
    pub(crate) fn hold(&mut self, now: Time) {
        self.hold = now + HOLD;
    }

    /// When a check may go to `remote`; `None`: at once. The peer's NAT must have seen a check of the
    /// peer before: a Linux router without a filter on its input would take this host's check for its
    /// own, and give the peer's checks to this host another port.
    pub(crate) fn held_until(&self, now: Time, remote: SocketAddr) -> Option<Time> {
        let behind_nat =
            |one: &Candidate| one.addr() == remote && one.kind() == CandidateKind::ServerReflexive;
        let held = now < self.hold
            && !self.heard.contains_key(&remote)
            && remote.is_ipv4()
            && self.agent.remote_candidates().any(|one| behind_nat(&one));
        held.then_some(self.hold)
    }

    pub(crate) fn credentials(&self) -> &IceCreds {
        self.agent.local_credentials()
    }

    pub(crate) fn set_remote_credentials(&mut self, credentials: IceCreds) {
        self.agent.set_remote_credentials(credentials);
    }

    /// Adds an address of this host. Returns what to tell the peer; `None` for an address that the
    /// agent has already or cannot use, such as loopback.
    pub(crate) fn add_local(&mut self, address: SocketAddr) -> Option<Sent> {
        self.add(Candidate::host(address, Protocol::Udp).ok()?)
    }

    /// Adds the address `mapped` that a server sees instead of this host's address `base`.
    pub(crate) fn add_reflexive(&mut self, mapped: SocketAddr, base: SocketAddr) -> Option<Sent> {
        self.add(Candidate::server_reflexive(mapped, base, Protocol::Udp).ok()?)
    }

    /// Adds the address `relayed` of a relay that this host uses from its address `local`.
    pub(crate) fn add_relayed(&mut self, relayed: SocketAddr, local: SocketAddr) -> Option<Sent> {
        let sent = self.add(Candidate::relayed(relayed, local, Protocol::Udp).ok()?)?;
        self.local_relays.insert(relayed);
        Some(sent)
    }

    fn add(&mut self, candidate: Candidate) -> Option<Sent> {
        self.agent.add_local_candidate(candidate).map(Sent::of)
    }

    /// Adds a candidate of the peer.
    pub(crate) fn add_remote(&mut self, sent: &Sent) {
        if sent.kind == CandidateType::Relayed && self.remote_relays.len() < REMOTE_RELAYS_MAX {
            self.remote_relays.insert(sent.address);
        }
        self.agent.add_remote_candidate(sent.candidate());
    }

    /// Stops using an address that this host has lost.
    pub(crate) fn remove_local(&mut self, ip: IpAddr) {
        let lost: Vec<_> =
            self.agent.local_candidates().filter(|one| one.local().ip() == ip).collect();
        for candidate in lost {
            self.agent.invalidate_candidate(&candidate);
        }
    }

    pub(crate) fn remote_credentials(&self) -> Option<&IceCreds> {
        self.agent.remote_credentials()
    }

    /// This host's candidates, and the peer's.
    pub(crate) fn candidates(&self) -> (Vec<Sent>, Vec<Sent>) {
        let local = self.agent.local_candidates().map(|one| Sent::of(&one)).collect();
        (local, self.agent.remote_candidates().map(|one| Sent::of(&one)).collect())
    }

    /// Whether this is an address of one of the peer's relays.
    pub(crate) fn is_relay_of_peer(&self, address: SocketAddr) -> bool {
        self.remote_relays.contains(&address)
    }

    /// The pair that datagrams take.
    pub(crate) fn selected(&self) -> Option<Pair> {
        self.selected
    }

    /// The pair on which the peer's last check came. It was authentic, so an answer may take the same
    /// way back before a pair is selected.
    pub(crate) fn checked_on(&self) -> Option<Pair> {
        self.checked_on
    }

    /// No pair works any more, and none is left to try.
    pub(crate) fn has_failed(&self) -> bool {
        self.agent.state() == IceConnectionState::Disconnected
    }

    /// The round trip of the last check of the selected pair.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.agent.nominated_pair_rtt()
    }

    /// Handles a STUN message from `remote` to this host's address `local`. False if it is not for
    /// this agent, or not authentic.
    pub(crate) fn handle(&mut self, now: Time, pair: Pair, bytes: &[u8]) -> bool {
        let Ok(message) = StunMessage::parse(bytes) else { return false };
        // RFC 8445 §7.3: the user name and MESSAGE-INTEGRITY are those of this agent.
        if !self.agent.accepts_message(&message) {
            return false;
        }
        self.note(now, pair.remote);
        if message.is_binding_request() {
            self.checked_on = Some(pair);
            self.restore_candidate(pair.remote);
            // RFC 8445 §7.3.1.5: the controlling agent nominates this pair.
            if message.use_candidate() {
                self.accept_nomination(now, pair);
            }
        }
        let packet = StunPacket {
            proto: Protocol::Udp,
            source: pair.remote,
            destination: pair.local,
            message,
        };
        let handled = self.agent.handle_packet(self.clock.instant(now), packet);
        self.abandon_old_mapping(now, pair.remote);
        // A successful check may select its pair at once.
        self.handle_timeout(now);
        handled
    }

    fn note(&mut self, now: Time, remote: SocketAddr) {
        // A peer can check from many addresses: the one silent for longest makes room.
        if self.heard.len() >= HEARD_MAX && !self.heard.contains_key(&remote) {
            let oldest = self.heard.iter().min_by_key(|(_, at)| at.1).map(|(address, _)| *address);
            oldest.map(|address| self.heard.remove(&address));
        }
        let (first, last) = self.heard.entry(remote).or_insert((now, now));
        if now.saturating_since(*last) >= ABANDONED {
            *first = now;
        }
        *last = now;
    }

    fn last_heard(&self, remote: SocketAddr) -> Time {
        self.heard.get(&remote).map_or(Time::ZERO, |(_, last)| *last)
    }

    /// The peer checks from `remote`, and has not checked from the selected address for a while.
    fn abandon_old_mapping(&mut self, now: Time, remote: SocketAddr) {
        let Some(selected) = self.selected else { return };
        let last = self.last_heard(selected.remote);
        let first_there = self.heard.get(&remote).map_or(now, |(first, _)| *first);
        let patience = if first_there > last { MOVED } else { ABANDONED };
        if selected.remote == remote || now.saturating_since(last) < patience {
            return;
        }
        self.give_up(selected.remote);
    }

    /// The controlling agent has selected a pair: its nomination comes after an exchange of checks on
    /// that pair. This agent then uses the pair, if it has none, before its own check has succeeded. It
    /// also returns to the pair of its own agent, which was dead for a while, and leaves a relay for a
    /// direct path: the controlling agent goes on nominating pairs that it has left. A pair that it
    /// begins to nominate is the one that it has selected last: it has moved.
    fn accept_nomination(&mut self, now: Time, pair: Pair) {
        let begins = self.note_nomination(now, pair);
        let better = |selected| self.is_relayed(selected) && !self.is_relayed(pair);
        let worse = |selected| !self.is_relayed(selected) && self.is_relayed(pair);
        let usable = match self.selected {
            None => true,
            Some(selected) => {
                better(selected)
                    || self.nominated == Some(pair)
                    || begins && selected.remote != pair.remote && !worse(selected)
            }
        };
        // RFC 8445 §8.1.1: only the controlling agent nominates.
        if !self.agent.controlling() && usable {
            self.selected = Some(pair);
        }
    }

    /// True if the pair was not nominated for a while.
    fn note_nomination(&mut self, now: Time, pair: Pair) -> bool {
        if self.nominations.len() >= HEARD_MAX && !self.nominations.contains_key(&pair) {
            let oldest = self.nominations.iter().min_by_key(|(_, at)| **at).map(|(pair, _)| *pair);
            oldest.map(|pair| self.nominations.remove(&pair));
        }
        let last = self.nominations.insert(pair, now);
        last.is_none_or(|last| now.saturating_since(last) >= ABANDONED)
    }

    fn is_relayed(&self, pair: Pair) -> bool {
        self.local_relays.contains(&pair.local) || self.remote_relays.contains(&pair.remote)
    }

    /// The selected path is dead. The controlling agent tries its other pairs; the other agent waits for
    /// its nomination.
    fn suspend(&mut self, now: Time, remote: SocketAddr) {
        self.selected = None;
        if self.agent.controlling() {
            self.give_up(remote);
            self.agent.handle_timeout(self.clock.instant(now));
            self.take_events();
        }
    }

    /// Stops using an address of the peer.
    fn give_up(&mut self, remote: SocketAddr) {
        let mut candidates = self.agent.remote_candidates();
        if let Some(old) = candidates.find(|one| one.addr() == remote) {
            drop(candidates);
            self.agent.invalidate_candidate(&old);
            if self.given_up.len() < GIVEN_UP_MAX {
                self.given_up.insert(remote, old);
            }
        }
    }

    /// An authentic check comes from an address that was given up, so it works again: after a blackout,
    /// or because the peer's NAT has kept the mapping.
    fn restore_candidate(&mut self, remote: SocketAddr) {
        let Some(old) = self.given_up.remove(&remote) else { return };
        // The agent takes no peer-reflexive candidate from outside; the nearest is a reflexive one.
        let candidate = match old.kind() {
            CandidateKind::PeerReflexive => {
                Candidate::server_reflexive(remote, remote, Protocol::Udp).unwrap_or(old)
            }
            _ => old,
        };
        self.agent.add_remote_candidate(candidate);
    }

    /// How long nothing authentic has come from the selected address.
    fn silence(&self, now: Time) -> Option<(SocketAddr, Span)> {
        let remote = self.selected?.remote;
        Some((remote, now.saturating_since(self.last_heard(remote))))
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Check> {
        let transmit = self.agent.poll_transmit()?;
        let pair = Pair { local: transmit.source, remote: transmit.destination };
        Some(Check { pair, bytes: transmit.contents.to_vec() })
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Time> {
        self.agent.poll_timeout().map(|at| self.clock.time(at))
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.agent.handle_timeout(self.clock.instant(now));
        self.take_events();
        // The agent itself waits for 15 s. It may have another pair that still works.
        let mut given_up = BTreeSet::new();
        while let Some((remote, silent)) = self.silence(now) {
            if silent < DEAD_AFTER {
                break;
            }
            // The agent may come back to an address through another pair: then no path is left.
            if given_up.insert(remote) {
                self.suspend(now, remote);
            } else {
                self.selected = None;
            }
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.agent.poll_event() {
            if let IceAgentEvent::NominatedSend { source, destination, .. } = event {
                self.nominated = Some(Pair { local: source, remote: destination });
                self.selected = self.nominated;
            }
        }
        if self.has_failed() {
            self.selected = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent at an address, the only one that it has.
    struct End {
        ice: Ice,
        address: SocketAddr,
    }

    fn end(clock: Clock, controlling: bool, last_octet: u8) -> End {
        let address = SocketAddr::from(([192, 0, 2, last_octet], 7000));
        let credentials = credentials([last_octet; 32]);
        let mut ice = Ice::new(clock, controlling, credentials, u64::from(last_octet));
        ice.add_local(address).expect("a host candidate");
        End { ice, address }
    }

    /// Two agents that have exchanged credentials and candidates.
    fn ends() -> [End; 2] {
        let clock = Clock::new();
        let mut ends = [end(clock, true, 1), end(clock, false, 2)];
        for (one, other) in [(0, 1), (1, 0)] {
            let credentials = ends[other].ice.credentials().clone();
            let (candidates, _) = ends[other].ice.candidates();
            ends[one].ice.set_remote_credentials(credentials);
            candidates.iter().for_each(|candidate| ends[one].ice.add_remote(candidate));
        }
        ends
    }

    /// Carries all messages for `length` from `now` on, without delay, and returns the end.
    fn run(ends: &mut [End; 2], now: Time, length: Span) -> Time {
        let end = now + length;
        let mut now = now;
        while now < end {
            for (from, to) in [(0, 1), (1, 0)] {
                ends[from].ice.handle_timeout(now);
                while let Some(check) = ends[from].ice.poll_transmit() {
                    let pair = Pair { local: check.pair.remote, remote: check.pair.local };
                    if pair.local == ends[to].address {
                        ends[to].ice.handle(now, pair, &check.bytes);
                    }
                }
            }
            now += Span::from_millis(5);
        }
        end
    }

    #[test]
    fn an_address_that_was_given_up_is_used_again_when_checks_come_from_it() {
        let mut ends = ends();
        let now = run(&mut ends, Time::ZERO, Span::from_secs(2));
        let [first, second] = [ends[0].address, ends[1].address];
        let pair = Some(Pair { local: second, remote: first });
        assert_eq!(ends[1].ice.selected(), pair);
        ends[1].ice.selected = None;
        ends[1].ice.give_up(first);
        run(&mut ends, now, Span::from_secs(4));
        assert_eq!(ends[1].ice.selected(), pair, "the peer goes on checking");
    }

    /// Found by chaos (seed 16,408,834): the controlling agent nominates its relay's pair, then a direct
    /// one, and goes on checking both as nominated.
    #[test]
    fn a_nominated_direct_pair_takes_the_place_of_a_relay() {
        let mut ends = ends();
        let direct = Pair { local: ends[1].address, remote: ends[0].address };
        let relay = SocketAddr::from(([203, 0, 113, 1], 49157));
        ends[1].ice.add_relayed(relay, direct.local).expect("a candidate");
        let relayed = Pair { local: relay, remote: direct.remote };
        ends[1].ice.accept_nomination(Time::ZERO, relayed);
        assert_eq!(ends[1].ice.selected(), Some(relayed));
        ends[1].ice.accept_nomination(Time::ZERO, direct);
        assert_eq!(ends[1].ice.selected(), Some(direct));
        ends[1].ice.accept_nomination(Time::ZERO, relayed);
        assert_eq!(ends[1].ice.selected(), Some(direct), "and keeps it");
    }

    /// Moves an end to another address, as [`super::super::Host::set_addresses`] does.
    fn move_to(end: &mut End, last_octet: u8) {
        let new = SocketAddr::from(([192, 0, 2, last_octet], 7000));
        let old = std::mem::replace(&mut end.address, new);
        end.ice.remove_local(old.ip());
        end.ice.add_local(new).expect("a host candidate");
    }

    /// The time until both ends use the new address of the one that has moved.
    fn until_both_follow(ends: &mut [End; 2], moved: usize, start: Time) -> Span {
        let other = 1 - moved;
        let mut now = start;
        let follows = |ends: &[End; 2]| {
            let pairs = [moved, other].map(|end| ends[end].ice.selected());
            let there = ends[moved].address;
            pairs[0].is_some_and(|pair| pair.local == there)
                && pairs[1].is_some_and(|pair| pair.remote == there)
        };
        while !follows(ends) {
            assert!(now < start + Span::from_secs(10), "no path");
            now = run(ends, now, Span::from_millis(50));
        }
        now.saturating_since(start)
    }

    #[test]
    fn a_peer_that_moves_is_followed() {
        for (moved, most) in [(0, Span::from_millis(300)), (1, Span::from_millis(2500))] {
            let mut ends = ends();
            let mut now = run(&mut ends, Time::ZERO, Span::from_secs(5));
            // To a third address, back, and there again.
            for last_octet in [9, 10 + moved as u8, 9] {
                move_to(&mut ends[moved], last_octet);
                let took = until_both_follow(&mut ends, moved, now);
                assert!(took <= most, "{moved} to {last_octet}: {took:?}");
                now = run(&mut ends, now + took, Span::from_secs(5));
            }
        }
    }
}
