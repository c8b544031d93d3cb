//! Ports that the system chose for a connection which is in TIME-WAIT now.
//!
//! TIME-WAIT keeps the pair of ports apart from a new connection's, and answers a FIN that comes
//! again (RFC 9293 §3.6). Both want the UDP socket, so that it cannot go; but it need not stand idle:
//! a next connection of the same process may begin from it, as over a TIME-WAIT of TCP whose
//! timestamps tell old segments from new ones (RFC 6191, Linux's tcp_tw_reuse). So a client that
//! opens one connection after the other needs descriptors for those of a second and not of a minute.

use crate::endpoint::Limits;
use std::collections::VecDeque;
use std::net::IpAddr;
use windlass_base::{Span, Time};

/// A port rests for so long before its next connection (Linux's tcp_tw_reuse_delay): a report of
/// ICMP about the last one would be taken for one about the next.
const REST: Span = Span::from_secs(1);
/// The same where there is no other descriptor: the peer's timestamps, in milliseconds, have gone on.
const LEAST_REST: Span = Span::from_millis(2);

/// Where a port was bound, and with what.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) address: IpAddr,
    pub(super) limits: Limits,
    /// Of the thread that bound it: a socket stays in the network namespace of its birth.
    pub(super) namespace: u64,
}

impl Kind {
    /// What the calling thread would bind.
    pub(super) fn here(address: IpAddr, limits: Limits) -> Kind {
        Kind { address, limits, namespace: namespace() }
    }
}

/// The number of the thread's network namespace; 0 where nobody tells.
#[cfg(target_os = "linux")]
fn namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |found| found.ino())
}

/// No other system has them.
#[cfg(not(target_os = "linux"))]
fn namespace() -> u64 {
    0
}

/// The ports, since when they rest, and what they are, the longest first.
#[derive(Debug)]
pub(super) struct Resting<Key>(VecDeque<(Time, Kind, Key)>);

impl<Key> Default for Resting<Key> {
    fn default() -> Resting<Key> {
        Resting(VecDeque::new())
    }
}

impl<Key: Copy + PartialEq> Resting<Key> {
    pub(super) fn add(&mut self, now: Time, kind: Kind, key: Key) {
        self.0.push_back((now, kind, key));
    }

    /// It is gone, or in use by another way.
    pub(super) fn forget(&mut self, key: Key) {
        if let Some(at) = self.0.iter().position(|(_, _, other)| *other == key) {
            self.0.remove(at);
        }
    }

    /// One that has rested for long enough; `urgently`: for as long as it must.
    pub(super) fn take(&mut self, now: Time, kind: Kind, urgently: bool) -> Option<Key> {
        let rest = if urgently { LEAST_REST } else { REST };
        let mut rested = self.0.iter().take_while(|(since, _, _)| *since + rest <= now);
        let at = rested.position(|(_, other, _)| *other == kind)?;
        self.0.remove(at).map(|(_, _, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_rests_before_its_next_connection_and_serves_its_own_kind() {
        let kind = |address: &str| Kind {
            address: address.parse().expect("an address"),
            limits: Limits::default(),
            namespace: 1,
        };
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut resting = Resting::default();
        resting.add(at(0), kind("::"), 1);
        resting.add(at(0), kind("0.0.0.0"), 2);
        resting.add(at(500), kind("0.0.0.0"), 3);
        assert_eq!(resting.take(at(999), kind("0.0.0.0"), false), None);
        assert_eq!(resting.take(at(1000), kind("0.0.0.0"), false), Some(2));
        assert_eq!(resting.take(at(1000), kind("0.0.0.0"), false), None);
        assert_eq!(resting.take(at(501), kind("0.0.0.0"), true), None);
        assert_eq!(resting.take(at(502), kind("0.0.0.0"), true), Some(3));
        resting.add(at(0), Kind { namespace: 2, ..kind("0.0.0.0") }, 4);
        assert_eq!(resting.take(at(9000), kind("0.0.0.0"), false), None);
        resting.forget(1);
        assert_eq!(resting.take(at(9000), kind("::"), false), None);
    }
}
