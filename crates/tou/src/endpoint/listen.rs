//! Passive opens, with a bounded backlog and SYN cookies beyond it.

use super::{Addresses, ConnectionId, Endpoint, Passive, cookie, longer_headers};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::{error, fmt};
use windlass_base::Time;
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Config, Connection, Flags, Segment};

/// The largest number of replies without a connection that wait for the socket.
const REPLIES_MAX: usize = 1024;

/// Returned by [`Endpoint::listen`]: the endpoint listens already.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ListenError;

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this port has a listener already")
    }
}

impl error::Error for ListenError {}

/// The state of a listener: half-open connections, and complete ones that wait for accept.
pub(super) struct Listening {
    /// Configuration of new connections over IPv4.
    config: Config,
    /// The largest number of half-open connections, and of complete ones.
    backlog: usize,
    half_open: usize,
    complete: VecDeque<ConnectionId>,
    /// When the last cookie was sent. No cookie is valid long after it.
    last_cookie: Option<Time>,
}

/// The configuration for a handshake that asks for AccECN, and agrees on it, in every SYN and SYN-ACK. RFC 9768 §3.1.2 and
/// §3.1.4.1 leave the flags out at last, for middleboxes that do not read ToU. An end that has sent them and then does
/// not could use AE, which a peer without agreement drops.
pub(super) fn without_fallback(config: Config) -> Config {
    config.with(|c| c.ecn.fallback &= c.ecn.echo != EcnEcho::Accurate)
}

impl Listening {
    /// Subtracts longer headers than those of IPv4 from the MSS.
    fn config_for(&self, peer: SocketAddr) -> Config {
        let longer = longer_headers(&peer);
        self.config.clone().with(|c| c.mss = self.config.mss.saturating_sub(longer))
    }

    fn accept_queue_has_room(&self) -> bool {
        self.complete.len() < self.backlog
    }

    pub(super) fn complete(&mut self, id: ConnectionId) {
        self.half_open -= 1;
        self.complete.push_back(id);
    }

    /// Removes a connection that ended before it was accepted.
    pub(super) fn forget(&mut self, passive: Passive, id: ConnectionId) {
        match passive {
            Passive::HalfOpen => self.half_open -= 1,
            Passive::Complete => self.complete.retain(|other| *other != id),
        }
    }
}

impl<Data: Default> Endpoint<Data> {
    /// Starts to accept connections with this configuration. Over IPv6 their MSS is 20 bytes less.
    ///
    /// `backlog` (at least 1) limits the number of half-open connections, and of complete ones that
    /// wait for [`Endpoint::accept`]. If there are too many half-open connections, a SYN is answered
    /// by a SYN cookie. If too many complete ones wait, it is dropped.
    ///
    /// # Errors
    /// [`ListenError`] if the endpoint listens already.
    pub fn listen(&mut self, config: Config, backlog: usize) -> Result<(), ListenError> {
        if self.listening.is_some() {
            return Err(ListenError);
        }
        let (config, backlog) = (without_fallback(config), backlog.max(1));
        let complete = VecDeque::new();
        self.listening =
            Some(Listening { config, backlog, half_open: 0, complete, last_cookie: None });
        Ok(())
    }

    /// Stops listening and resets connections that were not accepted.
    pub(crate) fn stop_listening(&mut self) {
        self.listening = None;
        let waiting = self.slots.iter().filter(|(_, slot)| slot.passive.is_some());
        for key in waiting.map(|(key, _)| key).collect::<Vec<_>>() {
            let slot = &mut self.slots[key];
            (slot.passive, slot.released) = (None, true);
            slot.stream.connection_mut().abort();
            self.touch(key);
        }
    }

    /// Takes the next complete connection; `None` if there is none.
    pub fn accept(&mut self) -> Option<ConnectionId> {
        let id = self.listening.as_mut()?.complete.pop_front()?;
        self.slots[id.key].passive = None;
        Some(id)
    }

    /// The number of connections that wait for [`Endpoint::accept`].
    pub fn acceptable(&self) -> usize {
        self.listening.as_ref().map_or(0, |listening| listening.complete.len())
    }

    /// Handles a segment that belongs to no connection. Returns the key of a new connection.
    pub(super) fn handle_unmatched(
        &mut self,
        now: Time,
        addresses: Addresses,
        segment: &Segment,
    ) -> Option<usize> {
        let control = segment.flags & (Flags::SYN | Flags::ACK | Flags::RST);
        if control == Flags::SYN {
            self.handle_syn(now, addresses, segment)
        } else if control == Flags::ACK
            && let Some(connection) = self.redeem_cookie(now, addresses.peer, segment)
        {
            // Without room the ACK is dropped. Data that follows it carries the cookie again.
            if !self.has_room() {
                self.counters.overflowed += 1;
                return None;
            }
            self.counters.cookies_redeemed += 1;
            Some(self.insert_half_open(now, addresses, connection))
        } else {
            // RFC 9293 §3.10.7.1: a segment without a connection gets a reset.
            self.counters.strays += 1;
            self.answer_with_reset(now, addresses, segment);
            None
        }
    }

    /// There is room for another connection, both in the endpoint and in the accept queue.
    fn has_room(&self) -> bool {
        let waits = self.listening.as_ref().is_some_and(Listening::accept_queue_has_room);
        waits && self.slots.len() < self.limits.connections && !self.is_short_of_memory()
    }

    fn handle_syn(&mut self, now: Time, addresses: Addresses, syn: &Segment) -> Option<usize> {
        let peer = addresses.peer;
        let (has_room, may_reply) = (self.has_room(), self.replies.len() < REPLIES_MAX);
        let Some(listening) = self.listening.as_mut() else {
            self.counters.refused += 1;
            self.answer_with_reset(now, addresses, syn);
            return None;
        };
        if !has_room {
            // The peer will retransmit the SYN, as for a full accept queue of Linux.
            self.counters.overflowed += 1;
            return None;
        }
        // State for as many SYNs as the backlog has, cookies beyond it: a flood of SYNs fills no
        // table (RFC 4987 §3.6).
        if listening.half_open < listening.backlog {
            let isn = self.secret.initial_sequence_number(now, peer);
            let connection = Connection::listen(listening.config_for(peer), isn);
            return Some(self.insert_half_open(now, addresses, connection));
        }
        if !may_reply || !self.reply_bucket.take(&self.reply_limit, now, 1) {
            self.counters.unanswered += 1;
        } else if let Some(answer) =
            cookie::syn_ack(&self.secret, &listening.config_for(peer), now, peer, syn)
        {
            listening.last_cookie = Some(now);
            self.counters.cookies_sent += 1;
            self.replies.push_back((addresses, answer));
        }
        None
    }

    fn insert_half_open(
        &mut self,
        now: Time,
        addresses: Addresses,
        connection: Connection,
    ) -> usize {
        if let Some(listening) = &mut self.listening {
            listening.half_open += 1;
        }
        self.insert(now, addresses, connection, Some(Passive::HalfOpen))
    }

    fn redeem_cookie(&self, now: Time, peer: SocketAddr, ack: &Segment) -> Option<Connection> {
        let listening = self.listening.as_ref()?;
        // Without a recent cookie, a guess at the 24-bit tag has no chance.
        let since_last = now.saturating_since(listening.last_cookie?);
        if since_last > cookie::LIFETIME {
            return None;
        }
        cookie::redeem(&self.secret, &listening.config_for(peer), now, peer, ack)
    }

    fn answer_with_reset(&mut self, now: Time, addresses: Addresses, segment: &Segment) {
        let Some(reset) = segment.reset_reply() else { return };
        // Forged segments must not turn this host into a source of floods.
        if self.replies.len() < REPLIES_MAX && self.reply_bucket.take(&self.reply_limit, now, 1) {
            self.counters.resets += 1;
            self.replies.push_back((addresses, reset));
        } else {
            self.counters.unanswered += 1;
        }
    }
}
