//! Passive opens: a bounded backlog, and SYN cookies beyond it.

use super::{ConnectionId, Endpoint, Passive, cookie};
use crate::options::IPV6_EXTRA;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::{error, fmt};
use windlass_base::Time;
use windlass_tcp::{Config, Connection, Flags, Segment};

/// Answers to nobody in particular that wait for the socket; more are not given.
const REPLIES_MAX: usize = 1024;

/// There is a listener already.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ListenError;

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this port has a listener already")
    }
}

impl error::Error for ListenError {}

/// A listener: connections under way and connections that wait.
pub(super) struct Listening {
    /// What new connections over IPv4 are made with.
    config: Config,
    /// Half-open ones and those that wait, each at most so many.
    backlog: usize,
    half_open: usize,
    complete: VecDeque<ConnectionId>,
    /// When the last cookie went out: long afterwards nobody can have one.
    last_cookie: Option<Time>,
}

impl Listening {
    /// IPv4's header is shorter, also to peers that a socket of IPv6 has mapped addresses of.
    fn config_for(&self, peer: SocketAddr) -> Config {
        let extra = if peer.ip().to_canonical().is_ipv6() { IPV6_EXTRA } else { 0 };
        Config { mss: self.config.mss.saturating_sub(extra), ..self.config.clone() }
    }

    fn accept_queue_has_room(&self) -> bool {
        self.complete.len() < self.backlog
    }

    pub(super) fn complete(&mut self, id: ConnectionId) {
        self.half_open -= 1;
        self.complete.push_back(id);
    }

    /// A connection went before it was accepted.
    pub(super) fn forget(&mut self, passive: Passive, id: ConnectionId) {
        match passive {
            Passive::HalfOpen => self.half_open -= 1,
            Passive::Complete => self.complete.retain(|other| *other != id),
        }
    }
}

impl<Data: Default> Endpoint<Data> {
    /// Takes connections from now on, with this config; over IPv6 its MSS is 20 bytes less. `backlog`,
    /// one at least, bounds those that are half open, and those that wait for [`Endpoint::accept`]. A
    /// SYN that finds no room among the first gets a cookie, among the second none.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn listen(&mut self, config: Config, backlog: usize) -> Result<(), ListenError> {
        if self.listening.is_some() {
            return Err(ListenError);
        }
        let backlog = backlog.max(1);
        let complete = VecDeque::new();
        self.listening =
            Some(Listening { config, backlog, half_open: 0, complete, last_cookie: None });
        Ok(())
    }

    /// Takes no more connections; those that wait are reset.
    pub fn stop_listening(&mut self) {
        self.listening = None;
        let waiting = self.slots.iter().filter(|(_, slot)| slot.passive.is_some());
        for key in waiting.map(|(key, _)| key).collect::<Vec<_>>() {
            let slot = &mut self.slots[key];
            (slot.passive, slot.released) = (None, true);
            slot.stream.connection_mut().abort();
            self.touch(key);
        }
    }

    /// The next connection that is complete.
    pub fn accept(&mut self) -> Option<ConnectionId> {
        let id = self.listening.as_mut()?.complete.pop_front()?;
        self.slots[id.key].passive = None;
        Some(id)
    }

    /// Connections that wait for [`Endpoint::accept`].
    pub fn acceptable(&self) -> usize {
        self.listening.as_ref().map_or(0, |listening| listening.complete.len())
    }

    /// A segment from a peer that has no connection here.
    pub(super) fn handle_unmatched(
        &mut self,
        now: Time,
        peer: SocketAddr,
        segment: &Segment,
    ) -> Option<usize> {
        let control = segment.flags & (Flags::SYN | Flags::ACK | Flags::RST);
        if control == Flags::SYN {
            self.handle_syn(now, peer, segment)
        } else if control == Flags::ACK
            && let Some(connection) = self.redeem_cookie(now, peer, segment)
        {
            // With no room for it the ACK is not heard: data that follows it asks again.
            if !self.has_room() {
                self.counters.overflowed += 1;
                return None;
            }
            self.counters.cookies_redeemed += 1;
            Some(self.insert_half_open(peer, connection))
        } else {
            self.counters.strays += 1;
            self.answer_with_reset(now, peer, segment);
            None
        }
    }

    /// A connection that is complete at once could wait to be accepted.
    fn has_room(&self) -> bool {
        let waits = self.listening.as_ref().is_some_and(Listening::accept_queue_has_room);
        waits && self.slots.len() < self.limits.connections && !self.is_short_of_memory()
    }

    fn handle_syn(&mut self, now: Time, peer: SocketAddr, syn: &Segment) -> Option<usize> {
        let (has_room, may_reply) = (self.has_room(), self.replies.len() < REPLIES_MAX);
        let Some(listening) = self.listening.as_mut() else {
            self.counters.refused += 1;
            self.answer_with_reset(now, peer, syn);
            return None;
        };
        if !has_room {
            // It will be sent again, as to a full accept queue of Linux.
            self.counters.overflowed += 1;
            return None;
        }
        if listening.half_open < listening.backlog {
            let isn = self.secret.initial_sequence_number(now, peer);
            let connection = Connection::listen(listening.config_for(peer), isn);
            return Some(self.insert_half_open(peer, connection));
        }
        if !may_reply || !self.budget.take(now) {
            self.counters.unanswered += 1;
        } else if let Some(answer) =
            cookie::syn_ack(&self.secret, &listening.config_for(peer), now, peer, syn)
        {
            listening.last_cookie = Some(now);
            self.counters.cookies_sent += 1;
            self.replies.push_back((peer, answer));
        }
        None
    }

    fn insert_half_open(&mut self, peer: SocketAddr, connection: Connection) -> usize {
        if let Some(listening) = &mut self.listening {
            listening.half_open += 1;
        }
        self.insert(peer, connection, Some(Passive::HalfOpen))
    }

    fn redeem_cookie(&self, now: Time, peer: SocketAddr, ack: &Segment) -> Option<Connection> {
        let listening = self.listening.as_ref()?;
        // Where none went out lately, a guess of 24 bits is not even looked at.
        let since_last = now.saturating_since(listening.last_cookie?);
        if since_last > cookie::LIFETIME {
            return None;
        }
        cookie::redeem(&self.secret, &listening.config_for(peer), now, peer, ack)
    }

    fn answer_with_reset(&mut self, now: Time, peer: SocketAddr, segment: &Segment) {
        let Some(reset) = segment.reset_reply() else { return };
        if self.replies.len() < REPLIES_MAX && self.budget.take(now) {
            self.counters.resets += 1;
            self.replies.push_back((peer, reset));
        } else {
            self.counters.unanswered += 1;
        }
    }
}
