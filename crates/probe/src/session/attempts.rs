//! The addresses of a name, in the order in which a scout tries them.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use windlass_base::Span;
use windlass_base::dial::alternate;

/// How long an address may leave the SYN without an answer while others have not been tried. Round trips are
/// shorter, but for some by satellite, for which the silent addresses are tried again, with patience.
pub(super) const HANDSHAKE_FIRST: Span = Span::from_millis(500);

/// The attempts to reach one of the addresses of a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    left: VecDeque<SocketAddr>,
    /// Those that did not answer in the first round.
    silent: VecDeque<SocketAddr>,
    /// All have been tried once.
    again: bool,
}

impl Attempts {
    /// The families of addresses take turns: a host may have one that leads nowhere. Those that were silent at
    /// another port come last.
    pub(super) fn new(addresses: &[SocketAddr], known_silent: &[IpAddr]) -> Attempts {
        let mut left = alternate(addresses.iter().copied());
        left.make_contiguous().sort_by_key(|at| known_silent.contains(&at.ip()));
        Attempts { left, silent: VecDeque::new(), again: false }
    }

    /// The address to try now.
    pub(super) fn current(&self) -> Option<SocketAddr> {
        self.left.front().copied()
    }

    /// The longest wait for its SYN-ACK; `None`: as long as the user's patience.
    pub(super) fn handshake(&self) -> Option<Span> {
        let others = self.left.len() > 1 || !self.silent.is_empty();
        (others && !self.again).then_some(HANDSHAKE_FIRST)
    }

    /// Leaves the current address, which has answered or not. False if none is left.
    pub(super) fn next(&mut self, was_silent: bool) -> bool {
        let current = self.left.pop_front();
        if was_silent && self.handshake_was_short(current) {
            self.silent.extend(current);
        }
        if self.left.is_empty() && !self.again {
            self.again = true;
            self.left = std::mem::take(&mut self.silent);
        }
        !self.left.is_empty()
    }

    fn handshake_was_short(&self, current: Option<SocketAddr>) -> bool {
        current.is_some() && !self.again && (!self.left.is_empty() || !self.silent.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        SocketAddr::new(text.parse().expect("an address"), 80)
    }

    fn order(addresses: &[&str], silent: &[&str]) -> Vec<String> {
        let addresses: Vec<SocketAddr> = addresses.iter().map(|text| at(text)).collect();
        let silent: Vec<IpAddr> = silent.iter().map(|text| at(text).ip()).collect();
        let left = Attempts::new(&addresses, &silent).left;
        left.iter().map(|at| at.ip().to_string()).collect()
    }

    #[test]
    fn families_take_turns_and_silent_addresses_come_last() {
        let all = ["fd00::1", "fd00::2", "fd00::3", "10.0.0.1"];
        assert_eq!(order(&all, &[]), ["fd00::1", "10.0.0.1", "fd00::2", "fd00::3"]);
        assert_eq!(order(&all, &["fd00::1"]), ["10.0.0.1", "fd00::2", "fd00::3", "fd00::1"]);
        assert_eq!(order(&["10.0.0.1", "fd00::1"], &[]), ["10.0.0.1", "fd00::1"]);
        assert!(order(&[], &[]).is_empty());
    }

    #[test]
    fn an_address_is_waited_for_in_full_only_if_no_other_is_left() {
        let mut one = Attempts::new(&[at("10.0.0.1")], &[]);
        assert_eq!((one.handshake(), one.next(true)), (None, false));
        let mut two = Attempts::new(&[at("fd00::1"), at("10.0.0.1")], &[]);
        assert_eq!(two.handshake(), Some(HANDSHAKE_FIRST));
        assert!(two.next(true) && two.handshake() == Some(HANDSHAKE_FIRST));
        // Both were silent: each again, with patience.
        assert!(
            two.next(true) && two.current() == Some(at("fd00::1")) && two.handshake().is_none()
        );
        assert!(
            two.next(true) && two.current() == Some(at("10.0.0.1")) && two.handshake().is_none()
        );
        assert!(!two.next(true));
        // An address that refuses is not asked again.
        let mut refused = Attempts::new(&[at("fd00::1"), at("10.0.0.1")], &[]);
        assert!(refused.next(false) && !refused.next(false));
    }
}
