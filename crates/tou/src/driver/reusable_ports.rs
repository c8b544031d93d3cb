//! Client ports whose only connection is in TIME-WAIT, kept for the next connection.
//!
//! TIME-WAIT keeps the pair of ports apart from that of a new connection, and answers a
//! retransmitted FIN (RFC 9293 §3.6). Both need the UDP socket, so it has to stay open. The next
//! connection of the same process may use the same socket meanwhile: timestamps separate old
//! segments from new ones (RFC 6191, Linux's tcp_tw_reuse). A client that opens one connection after
//! the other then holds descriptors for one second's connections, not for one minute's.

use crate::endpoint::Limits;
use std::collections::VecDeque;
use std::net::SocketAddr;
use windlass_base::{Span, Time};

/// Delay before a port is used again (Linux's tcp_tw_reuse_delay). An ICMP report about the previous
/// connection could otherwise be taken for one about the next.
const REUSE_DELAY: Span = Span::from_secs(1);
/// The same delay when the process has no descriptor left. The peer's timestamps, in milliseconds,
/// must have advanced.
const REUSE_DELAY_MIN: Span = Span::from_millis(2);

/// How a port was bound. A new connection may use it only if it would bind the same way.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) address: SocketAddr,
    pub(super) limits: Limits,
    /// Network namespace of the thread that bound the socket: a socket never leaves its namespace.
    pub(super) namespace: u64,
}

impl Binding {
    /// The binding that a socket of the calling thread would get.
    pub(super) fn of_this_thread(address: SocketAddr, limits: Limits) -> Binding {
        Binding { address, limits, namespace: namespace() }
    }
}

/// The inode number of the thread's network namespace; 0 if it cannot be read.
#[cfg(target_os = "linux")]
fn namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |found| found.ino())
}

/// Other systems have no network namespaces.
#[cfg(not(target_os = "linux"))]
fn namespace() -> u64 {
    0
}

/// The reusable ports, each with the time since which it is reusable. The oldest comes first.
#[derive(Debug)]
pub(super) struct ReusablePorts<Key>(VecDeque<(Time, Binding, Key)>);

impl<Key> Default for ReusablePorts<Key> {
    fn default() -> ReusablePorts<Key> {
        ReusablePorts(VecDeque::new())
    }
}

impl<Key: Copy + PartialEq> ReusablePorts<Key> {
    pub(super) fn add(&mut self, now: Time, binding: Binding, key: Key) {
        self.0.push_back((now, binding, key));
    }

    /// Removes a port that was closed.
    pub(super) fn forget(&mut self, key: Key) {
        if let Some(at) = self.0.iter().position(|(_, _, other)| *other == key) {
            self.0.remove(at);
        }
    }

    /// Takes a port with this binding whose delay is over. `urgent` asks for the shorter delay.
    pub(super) fn take(&mut self, now: Time, binding: Binding, urgent: bool) -> Option<Key> {
        let delay = if urgent { REUSE_DELAY_MIN } else { REUSE_DELAY };
        let mut usable = self.0.iter().take_while(|(since, _, _)| *since + delay <= now);
        let at = usable.position(|(_, other, _)| *other == binding)?;
        self.0.remove(at).map(|(_, _, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_reused_after_its_delay_and_for_the_same_binding_only() {
        let binding = |address: &str| Binding {
            address: (address.parse::<std::net::IpAddr>().expect("an address"), 0).into(),
            limits: Limits::default(),
            namespace: 1,
        };
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut ports = ReusablePorts::default();
        ports.add(at(0), binding("::"), 1);
        ports.add(at(0), binding("0.0.0.0"), 2);
        ports.add(at(500), binding("0.0.0.0"), 3);
        assert_eq!(ports.take(at(999), binding("0.0.0.0"), false), None);
        assert_eq!(ports.take(at(1000), binding("0.0.0.0"), false), Some(2));
        assert_eq!(ports.take(at(1000), binding("0.0.0.0"), false), None);
        assert_eq!(ports.take(at(501), binding("0.0.0.0"), true), None);
        assert_eq!(ports.take(at(502), binding("0.0.0.0"), true), Some(3));
        ports.add(at(0), Binding { namespace: 2, ..binding("0.0.0.0") }, 4);
        assert_eq!(ports.take(at(9000), binding("0.0.0.0"), false), None);
        ports.forget(1);
        assert_eq!(ports.take(at(9000), binding("::"), false), None);
    }
}
