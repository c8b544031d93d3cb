//! An address on a relay (TURN, RFC 8656), and the traffic through it.

use super::server::Channel;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use turn_client_proto::api::{TurnConfig, TurnEvent, TurnPollRet, TurnRecvRet};
use turn_client_proto::prelude::*;
use turn_client_proto::stun::Instant;
use turn_client_proto::stun::agent::Transmit;
use turn_client_proto::tcp::TurnClientTcp;
use turn_client_proto::types::{AddressFamily, TransportType, TurnCredentials};
use turn_client_proto::udp::TurnClientUdp;
use windlass_base::{Span, Time};

turn_client_proto::impl_client!(pub(super) Client, (Udp, TurnClientUdp), (Tcp, TurnClientTcp));

/// How long a server may take to grant an allocation: as long as a request may take (RFC 8489 §6.2).
/// One that was given up earlier and is granted later would be in the way of the next.
const GRANT_MAX: Span = Span::from_secs(40);
/// How long the end of an allocation may take. Until then the server refuses another one, and while
/// nothing arrives at all, another one would not be granted either.
const RELEASE_MAX: Span = GRANT_MAX;

/// Where a relay is, and who uses it.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) server: SocketAddr,
    pub(super) channel: Channel,
    /// The address of this host that the server is reached from.
    pub(super) local: SocketAddr,
    pub(super) user: String,
    pub(super) password: String,
}

/// One allocation, requested or granted.
pub(super) struct Relay {
    client: Client,
    service: Service,
    address: Option<SocketAddr>,
    /// The peers that the server was asked to let through.
    permitted: BTreeSet<IpAddr>,
    /// Those that it has let through.
    granted: BTreeSet<IpAddr>,
    bound: BTreeSet<SocketAddr>,
    failed: bool,
    /// When the allocation was given up; the server may not know yet.
    released: Option<Time>,
    /// When the allocation has failed if the server has not granted it.
    grant_by: Time,
    deadline: Option<Time>,
}

/// A datagram of a peer.
pub(super) struct FromPeer {
    pub(super) peer: SocketAddr,
    pub(super) bytes: Vec<u8>,
}

fn instant(now: Time) -> Instant {
    Instant::from_nanos(now.as_nanos() as i64)
}

impl Relay {
    /// Requests an address of the same family as the server's.
    pub(super) fn allocate(now: Time, service: Service) -> Relay {
        let credentials = TurnCredentials::new(&service.user, &service.password);
        let mut config = TurnConfig::new(credentials);
        if service.server.is_ipv6() {
            config.set_address_family(AddressFamily::IPV6);
        }
        let client = match service.channel {
            Channel::Udp => {
                Client::Udp(TurnClientUdp::allocate(service.local, service.server, config))
            }
            Channel::Stream(_) => {
                Client::Tcp(TurnClientTcp::allocate(service.local, service.server, config))
            }
        };
        let mut relay = Relay {
            client,
            service,
            address: None,
            permitted: BTreeSet::new(),
            granted: BTreeSet::new(),
            bound: BTreeSet::new(),
            failed: false,
            released: None,
            grant_by: now + GRANT_MAX,
            deadline: None,
        };
        relay.poll(now);
        relay
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    /// The allocated address; `None` while the server has not answered, and after the release.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.address.filter(|_| self.released.is_none())
    }

    /// This host has ended the allocation, or does not want it any more.
    pub(super) fn is_released(&self) -> bool {
        self.released.is_some()
    }

    /// The server refused the allocation or did not answer, or the allocation has ended.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Lets datagrams from `ip` through (RFC 8656 §9). The client renews it.
    pub(super) fn permit(&mut self, now: Time, ip: IpAddr) {
        if self.address().is_some_and(|own| own.is_ipv4() == ip.is_ipv4())
            && self.permitted.insert(ip)
        {
            // It fails only for an allocation that has ended, which poll() reports.
            let _ = self.client.create_permission(TransportType::Udp, ip, instant(now));
            self.poll(now);
        }
    }

    /// Binds a channel, which shortens the header of each datagram (RFC 8656 §12).
    pub(super) fn bind(&mut self, now: Time, peer: SocketAddr) {
        if self.address().is_some() && self.bound.insert(peer) {
            let _ = self.client.bind_channel(TransportType::Udp, peer, instant(now));
            self.poll(now);
        }
    }

    /// Handles bytes of the server. Returns the datagrams of peers in them.
    pub(super) fn handle(&mut self, now: Time, bytes: &[u8]) -> Vec<FromPeer> {
        let Service { server, local, .. } = self.service;
        let transmit = Transmit::new(bytes, self.client.transport(), server, local);
        let mut datagrams = Vec::new();
        if let TurnRecvRet::PeerData(data) = self.client.recv(transmit, instant(now)) {
            datagrams.push(FromPeer { peer: data.peer, bytes: data.data().to_vec() });
        }
        while let Some(data) = self.client.poll_recv(instant(now)) {
            datagrams.push(FromPeer { peer: data.peer, bytes: data.data().to_vec() });
        }
        self.poll(now);
        datagrams
    }

    /// Wraps a datagram for `peer`. Returns the bytes for the server; `None` if the server does not
    /// let this host send to that peer.
    pub(super) fn send(&mut self, now: Time, peer: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        let built = self.client.send_to(TransportType::Udp, peer, bytes, instant(now)).ok()??;
        Some(built.build().data)
    }

    /// Ends the allocation. Until the server confirms it, there can be no other one.
    pub(super) fn release(&mut self, now: Time) {
        if self.address.is_none() {
            // Nothing was granted, so there is nothing to end at the server.
            self.failed = true;
        } else if self.released.is_none() {
            let _ = self.client.delete(instant(now));
            self.released = Some(now);
            self.poll(now);
        }
    }

    /// The next message for the server.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        self.client.poll_transmit(instant(now)).map(|transmit| transmit.data.to_vec())
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.poll(now);
        }
    }

    /// Lets the client progress, and notes when it wants to again.
    fn poll(&mut self, now: Time) {
        self.deadline = match self.client.poll(instant(now)) {
            TurnPollRet::WaitUntil(at) => Some(Time::from_nanos(at.as_nanos().max(0) as u64)),
            TurnPollRet::Closed => {
                self.failed = true;
                None
            }
            // Only for TCP allocations, which are not requested.
            TurnPollRet::AllocateTcpSocket { .. } | TurnPollRet::TcpClose { .. } => None,
        };
        if self.address.is_none() {
            self.failed |= now >= self.grant_by;
            self.deadline = Some(self.deadline.map_or(self.grant_by, |at| at.min(self.grant_by)));
        }
        if let Some(released) = self.released {
            let end = released + RELEASE_MAX;
            self.failed |= now >= end;
            self.deadline = Some(self.deadline.map_or(end, |at| at.min(end)));
        }
        while let Some(event) = self.client.poll_event() {
            match event {
                TurnEvent::AllocationCreated(_, address) => self.address = Some(address),
                TurnEvent::PermissionCreated(_, ip) => {
                    self.granted.insert(ip);
                }
                TurnEvent::AllocationCreateFailed(_) => self.failed = true,
                // A peer that the server does not admit stays in the list, so that it is not asked
                // again. If it admitted the peer before, it has lost the allocation.
                TurnEvent::PermissionCreateFailed(_, ip) => {
                    self.failed |= self.granted.contains(&ip);
                }
                TurnEvent::ChannelCreateFailed(_, peer) => {
                    self.bound.remove(&peer);
                }
                _ => {}
            }
        }
    }
}
