//! The companion of a port: it finds paths for the sessions, and shares the socket with the
//! endpoint.

use super::waiters::Waiters;
use crate::endpoint::Endpoint;
use std::net::{IpAddr, SocketAddr};
use std::task::Waker;
use windlass_base::Time;

/// Where a datagram of a session goes.
#[cfg_attr(not(feature = "session"), expect(dead_code, reason = "only sessions have companions"))]
pub(crate) enum Destination {
    /// As it is, to an address.
    Direct {
        /// The address of this host to send from.
        local: IpAddr,
        peer: SocketAddr,
    },
    /// Through [`Companion::relay`].
    Relayed,
}

/// A datagram of the companion's own.
pub(crate) struct Own {
    pub(crate) local: Option<IpAddr>,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
    /// The time to live, if it is not the system's.
    pub(crate) ttl: Option<u8>,
}

/// Finds paths for the sessions of a port. The port calls it under its lock.
pub(crate) trait Companion: Send {
    /// Whether a datagram is for the companion rather than for the endpoint.
    fn takes(&self, from: &SocketAddr, datagram: &[u8]) -> bool;

    /// Handles such a datagram. `addresses` are the one at which it arrived, if known, and its
    /// source. The port wakes `wakers` afterwards.
    fn handle(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint<Waiters>,
        addresses: (Option<IpAddr>, SocketAddr),
        datagram: &[u8],
        wakers: &mut Vec<Waker>,
    );

    /// Where the datagrams of the session `tag` go; `None` while it has no path.
    fn destination(&self, tag: u32) -> Option<Destination>;

    /// Wraps a datagram of the session `tag` for its relay. `None` if it cannot be sent, or was
    /// sent through a stream.
    fn relay(&mut self, now: Time, tag: u32, datagram: &[u8]) -> Option<Own>;

    /// The companion's next datagram.
    fn poll_transmit(&mut self) -> Option<Own>;

    /// When to call [`Companion::handle_timeout`].
    fn poll_timeout(&self) -> Option<Time>;

    /// Does what is due.
    fn handle_timeout(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint<Waiters>,
        wakers: &mut Vec<Waker>,
    );
}
