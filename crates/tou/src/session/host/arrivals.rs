//! Datagrams and bytes of streams that arrive: for a server, for a relay, or for the ICE agent of a
//! session. `node` passes them in.

use super::Host;
use crate::session::ice::Pair;
use crate::session::server::{Channel, Server};
use std::net::{IpAddr, SocketAddr};
use windlass_base::Time;
use windlass_tou_wire as wire;

impl Host {
    /// Whether a datagram from `from` is for this host's machinery rather than for the endpoint.
    pub fn is_for_host(&self, from: &SocketAddr, bytes: &[u8]) -> bool {
        let is_of_server = || self.servers.iter().any(|server| server.address() == *from);
        wire::kind(bytes) == wire::Kind::Stun || is_of_server()
    }

    /// Handles a datagram that arrived at this host's address `local` over UDP, or bytes of a
    /// stream. Returns the session datagrams that a relay has forwarded in it, for the endpoint.
    pub fn handle(
        &mut self,
        now: Time,
        channel: Channel,
        local: Option<IpAddr>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut data = Vec::new();
        // A relay may still be reached through a stream while its server is reached over UDP.
        if Host::is_for_relay(bytes) && self.relay_of(channel, from).is_some() {
            data = self.handle_relayed(now, channel, from, bytes);
        } else if let Some(server) = self.server_at(channel, from) {
            if self.servers[server].handle(now, bytes) {
                self.take_server_events(now, server);
            } else {
                // A peer behind the same address as the server's.
                self.handle_check(now, local, from, bytes);
            }
        } else if let Some(server) = self.probe_answered(channel, from, bytes) {
            self.servers[server].use_channel(now, Channel::Udp);
            self.take_server_events(now, server);
        } else if channel == Channel::Udp {
            self.handle_check(now, local, from, bytes);
        }
        self.update(now);
        data
    }

    /// The server that has answered over UDP while a stream is in use.
    fn probe_answered(&self, channel: Channel, from: SocketAddr, bytes: &[u8]) -> Option<usize> {
        let answered = |one: &Server| one.address() == from && one.is_probe_answered(bytes);
        self.servers.iter().position(answered).filter(|_| channel == Channel::Udp)
    }

    fn server_at(&self, channel: Channel, from: SocketAddr) -> Option<usize> {
        self.servers.iter().position(|one| one.channel() == channel && one.address() == from)
    }

    pub(super) fn take_server_events(&mut self, now: Time, server: usize) {
        while let Some(event) = self.servers[server].poll_event() {
            self.handle_server_event(now, server, event);
        }
    }

    fn handle_check(&mut self, now: Time, local: Option<IpAddr>, from: SocketAddr, bytes: &[u8]) {
        let ip = local.filter(|ip| self.local.contains(ip));
        // An address that this host does not announce stands for the one that would answer.
        let local = match ip {
            Some(ip) => (ip, self.port).into(),
            None => match self.base_for(from) {
                Some(base) => base,
                None => return,
            },
        };
        self.pass_to_agent(now, Pair { local, remote: from }, bytes);
    }

    fn pass_to_agent(&mut self, now: Time, pair: Pair, bytes: &[u8]) {
        // The user name of a check names its agent; no other agent accepts it.
        for session in self.sessions.values_mut() {
            let restart = session.restart.as_mut();
            if restart.is_some_and(|ice| ice.handle(now, pair, bytes))
                || session.ice.handle(now, pair, bytes)
            {
                return;
            }
        }
    }

    /// Handles bytes of a relay. STUN messages in them are checks; the rest is returned.
    fn handle_relayed(
        &mut self,
        now: Time,
        channel: Channel,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Vec<(SocketAddr, Vec<u8>)> {
        let Some(relay) = self.relay_of(channel, from) else { return Vec::new() };
        let datagrams = relay.handle(now, bytes);
        let Some(own) = relay.address() else { return Vec::new() };
        let mut data = Vec::new();
        for datagram in datagrams {
            if wire::kind(&datagram.bytes) == wire::Kind::Stun {
                let pair = Pair { local: own, remote: datagram.peer };
                self.pass_to_agent(now, pair, &datagram.bytes);
            } else {
                data.push((datagram.peer, datagram.bytes));
            }
        }
        data
    }
}
