//! Which address of this host is used for a peer.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The largest number of addresses in [`Asked`].
const ASKED_MAX: usize = 256;

/// The address, with port 0, from which the system sends to `peer`, as connect(2) of TCP chooses it.
/// Sends nothing.
///
/// # Errors
/// The system's own if there is no route, such as [`io::ErrorKind::NetworkUnreachable`].
pub(crate) fn source_for(peer: SocketAddr) -> io::Result<SocketAddr> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(peer)?;
    let mut source = socket.local_addr()?;
    source.set_port(0);
    Ok(source)
}

/// The addresses of this host at which the last STUN messages arrived, by their sources. A message to
/// such a source leaves from there (RFC 8489 §6.3.1: a response comes from the address that was asked).
#[derive(Debug, Default)]
pub(super) struct Asked(VecDeque<(SocketAddr, IpAddr)>);

impl Asked {
    pub(super) fn note(&mut self, from: SocketAddr, at: IpAddr) {
        match self.0.iter_mut().find(|(source, _)| *source == from) {
            Some((_, known)) => *known = at,
            None => {
                self.0.truncate(ASKED_MAX - 1);
                self.0.push_front((from, at));
            }
        }
    }

    pub(super) fn by(&self, source: &SocketAddr) -> Option<IpAddr> {
        self.0.iter().find(|(from, _)| from == source).map(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sources_have_the_address_that_they_asked() {
        let mut asked = Asked::default();
        let source = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let at = |last| IpAddr::from([10, 0, 0, last]);
        for port in 1..=1000 {
            asked.note(source(port), at(1));
        }
        asked.note(source(999), at(2));
        assert_eq!((asked.by(&source(999)), asked.by(&source(1000))), (Some(at(2)), Some(at(1))));
        assert_eq!(asked.by(&source(1000 - ASKED_MAX as u16)), None, "long ago");
        assert_eq!(asked.0.len(), ASKED_MAX);
    }

    #[test]
    fn loopback_is_reached_from_loopback() {
        let source = source_for(SocketAddr::from(([127, 0, 0, 9], 7))).expect("a route");
        assert_eq!(source, SocketAddr::from(([127, 0, 0, 1], 0)));
    }
}
