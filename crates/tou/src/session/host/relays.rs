//! The host's relays: when it asks for them, and what goes through them.

use super::{Event, Host, Outgoing};
use crate::session::ice::Pair;
use crate::session::one_session::{Session, SessionState};
use crate::session::relay::{Relay, Service};
use crate::session::server::{Channel, Server};
use std::net::{Ipv4Addr, SocketAddr};
use windlass_base::{Span, Time};

/// How long to wait after a server refused an allocation, or did not answer.
const RETRY_AFTER_FAILURE: Span = Span::from_secs(5);
/// How long relays are kept after they were last needed.
pub(super) const UNUSED_MAX: Span = Span::from_secs(30);

impl Host {
    /// Asks every rendezvous that has given credentials for an address on its relay.
    pub(super) fn want_relays(&mut self, now: Time) {
        self.relays_used = now;
        // A server that has just refused is not asked at every change.
        if now < self.relays_retry {
            return;
        }
        for index in 0..self.servers.len() {
            let server = &self.servers[index];
            let Some((user, password)) = server.credentials() else { continue };
            let (address, channel) = (server.address(), server.channel());
            let taken = |relay: &Relay| {
                let service = relay.service();
                service.server == address && service.channel == channel && !relay.has_failed()
            };
            if self.relays.iter().any(taken) {
                continue;
            }
            let local = self.base_for(address).unwrap_or((Ipv4Addr::UNSPECIFIED, self.port).into());
            let service = Service {
                server: address,
                channel,
                local,
                user: user.to_owned(),
                password: password.to_owned(),
            };
            self.relays.push(Relay::allocate(now, service));
        }
    }

    /// The same, if a session looks for a path or uses a relay.
    pub(super) fn want_relays_if_used(&mut self, now: Time) {
        if self.needs_relays() {
            self.want_relays(now);
        }
    }

    /// A session needs a relay while it has no direct path.
    pub(super) fn needs_relays(&self) -> bool {
        self.sessions.values().any(|session| {
            session.state != SessionState::Connected
                || session.restart.is_some()
                || session.path.is_some_and(|pair| !self.is_own(pair.local))
        })
    }

    /// Whether a direct path may be missing: the path passes a relay, or it ends at the address of a
    /// rendezvous, whose relay the peer may use without having said so yet.
    pub(super) fn may_be_relayed(&self, session: &Session, path: Pair) -> bool {
        let of_server = self.servers.iter().any(|one| one.address().ip() == path.remote.ip());
        of_server || self.is_relayed(session, path)
    }

    /// Whether a path of a session passes a relay of this host or of the peer.
    pub(super) fn is_relayed(&self, session: &Session, path: Pair) -> bool {
        !self.is_own(path.local) || session.ice.is_relay_of_peer(path.remote)
    }

    pub(super) fn is_own(&self, address: SocketAddr) -> bool {
        address.port() == self.port && self.local.contains(&address.ip())
    }

    /// Adds the addresses of new allocations to the candidates, and releases relays that were not
    /// needed for a while.
    pub(super) fn update_relays(&mut self, now: Time) {
        self.remove_ended(now);
        if self.needs_relays() {
            self.relays_used = now;
            self.want_relays(now);
        } else if now.saturating_since(self.relays_used) >= UNUSED_MAX {
            for relay in &mut self.relays {
                relay.release(now);
            }
        }
        self.release_outdated(now);
        let granted: Vec<_> = self
            .relays
            .iter()
            .filter(|relay| !relay.has_failed() && self.is_current(relay))
            .filter_map(|relay| Some((relay.address()?, relay.service().local)))
            .collect();
        let mut changed = Vec::new();
        for (tag, session) in &mut self.sessions {
            for (address, local) in &granted {
                if session.searching().add_relayed(*address, *local).is_some() {
                    session.note_news(now);
                    changed.push(*tag);
                }
            }
        }
        for tag in changed {
            self.permit(now, tag);
        }
    }

    /// Removes the relays that have ended. After a failure the host waits for a moment until it asks for
    /// another one.
    fn remove_ended(&mut self, now: Time) {
        if self.relays.iter().any(|relay| relay.has_failed() && !relay.is_released()) {
            self.relays_retry = now + RETRY_AFTER_FAILURE;
        }
        self.relays.retain(|relay| !relay.has_failed());
    }

    /// A server that gives other credentials than before has restarted, and has lost its allocations.
    pub(super) fn drop_relays_of_other_credentials(&mut self, server: usize) {
        let server = &self.servers[server];
        let Some(credentials) = server.credentials() else { return };
        self.relays.retain(|relay| {
            let service = relay.service();
            let same = (service.user.as_str(), service.password.as_str()) == credentials;
            same || service.server != server.address()
        });
    }

    /// Gives up the relays that no path uses: a path was lost, perhaps because a server has lost its
    /// allocations.
    pub(super) fn renew_relays(&mut self, now: Time) {
        let in_use = self.relays_in_use();
        for relay in &mut self.relays {
            if relay.address().is_some_and(|own| !in_use.contains(&own)) {
                relay.release(now);
            }
        }
    }

    fn relays_in_use(&self) -> Vec<SocketAddr> {
        self.sessions.values().filter_map(|one| one.path).map(|pair| pair.local).collect()
    }

    /// Whether a relay is reached as its server is now: over UDP, or through a stream.
    pub(super) fn is_current(&self, relay: &Relay) -> bool {
        let service = relay.service();
        let current =
            |one: &Server| one.address() == service.server && one.channel() == service.channel;
        self.servers.iter().any(current)
    }

    /// Releases the relays that are reached through a stream while UDP works, once no path needs them.
    fn release_outdated(&mut self, now: Time) {
        let in_use = self.relays_in_use();
        let outdated: Vec<_> = self.relays.iter().map(|relay| !self.is_current(relay)).collect();
        for (relay, outdated) in self.relays.iter_mut().zip(outdated) {
            let needed = relay.address().is_some_and(|own| in_use.contains(&own));
            if outdated && !needed && !relay.has_failed() {
                relay.release(now);
            }
        }
    }

    /// Reports the streams that neither a server nor a relay uses.
    pub(super) fn drop_streams(&mut self) {
        let used = |stream: usize| {
            let channel = Channel::Stream(stream);
            self.servers.iter().any(|server| server.channel() == channel)
                || self.relays.iter().any(|relay| relay.service().channel == channel)
        };
        let unneeded: Vec<_> = self.streams.keys().copied().filter(|one| !used(*one)).collect();
        for stream in unneeded {
            self.streams.remove(&stream);
            self.events.push_back(Event::StreamUnneeded { stream });
        }
    }

    /// Lets the peer's candidates send to this host's relays.
    pub(super) fn permit(&mut self, now: Time, tag: u32) {
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        let remote = session.searching().candidates().1;
        // RFC 8656 §9: a permission is for an address, whatever the port.
        for relay in &mut self.relays {
            for candidate in &remote {
                relay.permit(now, candidate.address.ip());
            }
        }
    }

    /// Wraps a datagram of the session `tag` for the relay that it takes. `None` if the session has
    /// no relayed path, or the relay does not accept the peer.
    pub fn wrap(&mut self, now: Time, tag: u32, bytes: &[u8]) -> Option<Outgoing> {
        let pair = self.sessions.get(&tag)?.route()?;
        self.send_through(now, pair.local, pair.remote, bytes)
    }

    /// Sends a datagram to `peer` from the relayed address `own`.
    pub(super) fn send_through(
        &mut self,
        now: Time,
        own: SocketAddr,
        peer: SocketAddr,
        bytes: &[u8],
    ) -> Option<Outgoing> {
        let relay = self.relays.iter_mut().find(|relay| relay.address() == Some(own))?;
        relay.permit(now, peer.ip());
        let bytes = relay.send(now, peer, bytes)?;
        let Service { server, channel, .. } = *relay.service();
        Some(Outgoing::plain(channel, server, bytes))
    }

    /// Shortens the headers of a session that has taken a relayed path.
    pub(super) fn bind_channel(&mut self, now: Time, tag: u32) {
        let Some(pair) = self.sessions.get(&tag).and_then(|session| session.path) else { return };
        // RFC 8656 §12: ChannelData has four bytes of header, a Send indication 36.
        for relay in &mut self.relays {
            if relay.address() == Some(pair.local) {
                relay.bind(now, pair.remote);
            }
        }
    }

    /// Whether a message from a server is for a relay: ChannelData (RFC 8656 §12.4), or STUN with
    /// one of TURN's methods (§17).
    pub(super) fn is_for_relay(bytes: &[u8]) -> bool {
        let Some([high, low]) = bytes.first_chunk::<2>() else { return false };
        // Channel numbers begin at 0x4000 (RFC 8656 §12), types of STUN with two zero bits.
        if high >> 6 != 0 {
            return true;
        }
        // RFC 8489 §5: the method's bits stand between those of the class.
        let kind = u16::from_be_bytes([*high, *low]);
        let method = (kind & 0x000f) | (kind & 0x00e0) >> 1 | (kind & 0x3e00) >> 2;
        matches!(method, 0x003 | 0x004 | 0x006 | 0x007 | 0x008 | 0x009)
    }

    pub(super) fn relay_of(&mut self, channel: Channel, from: SocketAddr) -> Option<&mut Relay> {
        self.relays.iter_mut().find(|relay| {
            let service = relay.service();
            service.channel == channel && service.server == from && !relay.has_failed()
        })
    }
}
