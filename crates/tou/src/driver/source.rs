//! Which address of this host is used for a peer.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};

/// The largest number of entries in [`Recent`].
const RECENT_MAX: usize = 256;

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

/// As [`source_for`]. A process without a descriptor left gets the address that it last had for the
/// peer, for a port that it can reuse.
///
/// # Errors
/// As [`source_for`].
pub(crate) fn client_source_for(peer: SocketAddr) -> io::Result<SocketAddr> {
    static LAST: Mutex<Recent<IpAddr, SocketAddr>> = Mutex::new(Recent(VecDeque::new()));
    let found = source_for(peer);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match found {
        Ok(source) => {
            last.note(peer.ip(), source);
            Ok(source)
        }
        Err(error) if is_exhausted(&error) => last.get(&peer.ip()).ok_or(error),
        Err(error) => Err(error),
    }
}

/// The process or the system has no descriptor left.
fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(unix)]
    let numbers = [nix::errno::Errno::EMFILE as i32, nix::errno::Errno::ENFILE as i32];
    // WSAEMFILE.
    #[cfg(not(unix))]
    let numbers = [10_024];
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

/// The last addresses that belong to other ones: those of this host at which STUN messages arrived, by
/// their sources. A message to such a source leaves from there (RFC 8489 §6.3.1: a response comes from
/// the address that was asked).
#[derive(Debug)]
pub(super) struct Recent<Key, Value>(VecDeque<(Key, Value)>);

impl<Key, Value> Default for Recent<Key, Value> {
    fn default() -> Recent<Key, Value> {
        Recent(VecDeque::new())
    }
}

impl<Key: PartialEq, Value: Copy> Recent<Key, Value> {
    pub(super) fn note(&mut self, key: Key, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => {
                self.0.truncate(RECENT_MAX - 1);
                self.0.push_front((key, value));
            }
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<Value> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sources_have_the_address_that_they_asked() {
        let mut recent = Recent::default();
        let source = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let at = |last| IpAddr::from([10, 0, 0, last]);
        for port in 1..=1000 {
            recent.note(source(port), at(1));
        }
        recent.note(source(999), at(2));
        assert_eq!(
            (recent.get(&source(999)), recent.get(&source(1000))),
            (Some(at(2)), Some(at(1)))
        );
        assert_eq!(recent.get(&source(1000 - RECENT_MAX as u16)), None, "long ago");
        assert_eq!(recent.0.len(), RECENT_MAX);
    }

    #[test]
    fn loopback_is_reached_from_loopback() {
        let source = source_for(SocketAddr::from(([127, 0, 0, 9], 7))).expect("a route");
        assert_eq!(source, SocketAddr::from(([127, 0, 0, 1], 0)));
    }
}
