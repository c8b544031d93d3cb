//! The two addresses of a connection.

use std::net::{IpAddr, SocketAddr};

/// The peer's address, and the one of this host that it uses. Connections of one peer to several
/// addresses of this host are different ones, as with TCP (RFC 9293 §3.4.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Addresses {
    /// The address of this host; `None` if the socket is bound to one, or it is not known.
    pub local: Option<IpAddr>,
    /// The peer's address.
    pub peer: SocketAddr,
}

impl From<SocketAddr> for Addresses {
    fn from(peer: SocketAddr) -> Addresses {
        Addresses { local: None, peer }
    }
}

impl From<&SocketAddr> for Addresses {
    fn from(peer: &SocketAddr) -> Addresses {
        Addresses::from(*peer)
    }
}
