//! The host's relays: when it asks for them, and what goes through them.

use super::{Host, Outgoing};
use crate::session::one_session::SessionState;
use crate::session::relay::{Relay, Service};
use crate::session::server::Channel;
use std::net::{Ipv4Addr, SocketAddr};
use windlass_base::{Span, Time};

/// How long relays are kept after they were last needed.
pub(super) const UNUSED_MAX: Span = Span::from_secs(30);

impl Host {
    /// Asks every rendezvous that has given credentials for an address on its relay.
    pub(super) fn want_relays(&mut self, now: Time) {
        self.relays_used = now;
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
            self.relays.retain(|relay| !relay.has_failed());
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

    pub(super) fn is_own(&self, address: SocketAddr) -> bool {
        address.port() == self.port && self.local.contains(&address.ip())
    }

    /// Adds the addresses of new allocations to the candidates, and releases relays that were not
    /// needed for a while.
    pub(super) fn update_relays(&mut self, now: Time) {
        if self.needs_relays() {
            self.relays_used = now;
        } else if now.saturating_since(self.relays_used) >= UNUSED_MAX {
            for relay in &mut self.relays {
                relay.release(now);
            }
        }
        let granted: Vec<_> = self
            .relays
            .iter()
            .filter(|relay| !relay.has_failed())
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

    /// Lets the peer's candidates send to this host's relays.
    pub(super) fn permit(&mut self, now: Time, tag: u32) {
        let Some(session) = self.sessions.get_mut(&tag) else { return };
        let remote = session.searching().candidates().1;
        for relay in &mut self.relays {
            for candidate in &remote {
                relay.permit(now, candidate.address.ip());
            }
        }
    }

    /// Wraps a datagram of the session `tag` for the relay that it takes. `None` if the session has
    /// no relayed path, or the relay does not accept the peer.
    pub fn wrap(&mut self, now: Time, tag: u32, bytes: &[u8]) -> Option<Outgoing> {
        let pair = self.sessions.get(&tag)?.path?;
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
        Some(Outgoing { channel, local: None, to: server, bytes })
    }

    /// Shortens the headers of a session that has taken a relayed path.
    pub(super) fn bind_channel(&mut self, now: Time, tag: u32) {
        let Some(pair) = self.sessions.get(&tag).and_then(|session| session.path) else { return };
        for relay in &mut self.relays {
            if relay.address() == Some(pair.local) {
                relay.bind(now, pair.remote);
            }
        }
    }

    /// Whether a message from a server is for a relay: ChannelData (RFC 8656 §12.4), or STUN with
    /// one of TURN's methods (§18).
    pub(super) fn is_for_relay(bytes: &[u8]) -> bool {
        let Some([high, low]) = bytes.first_chunk::<2>() else { return false };
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
