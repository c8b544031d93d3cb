//! In which order, and when, to try the addresses of a name (RFC 8305, Happy Eyeballs). Needs the
//! feature `dial`.
//!
//! The caller opens the connections and keeps the time:
//!
//! 1. Begin an attempt at each address that [`Attempts::poll_begin`] returns.
//! 2. Report an attempt that failed with [`Attempts::fail`].
//! 3. At [`Attempts::poll_timeout`], and after each failure, begin again with the first step.
//!
//! The first attempt that succeeds wins, and the caller cancels the others. When
//! [`Attempts::is_over`] is true, all have failed: [`Attempts::into_error`] names each address.
//!
//! ```
//! use std::io::ErrorKind;
//! use windlass_base::Time;
//! use windlass_base::dial::Attempts;
//!
//! let addresses = ["[2001:db8::1]:80", "[2001:db8::2]:80", "192.0.2.1:80"];
//! let mut attempts = Attempts::new(addresses.map(|text| text.parse().expect("an address")));
//! let begun = attempts.poll_begin(Time::ZERO).expect("the first address");
//! assert!(begun.is_ipv6() && attempts.poll_begin(Time::ZERO).is_none());
//! // The families alternate.
//! let later = attempts.poll_timeout().expect("a second address");
//! assert!(attempts.poll_begin(later).is_some_and(|address| address.is_ipv4()));
//! // After a failure the next attempt does not wait.
//! attempts.fail(begun, ErrorKind::ConnectionRefused.into());
//! assert!(attempts.poll_begin(later).is_some_and(|address| address.is_ipv6()));
//! ```

use crate::{Span, Time};
use std::collections::VecDeque;
use std::fmt::Write;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::string::String;
use std::vec::Vec;

/// Time between two attempts (RFC 8305 section 5, Connection Attempt Delay).
const ATTEMPT_DELAY: Span = Span::from_millis(250);

/// The most addresses of one name that are tried.
const ADDRESSES_MAX: usize = 16;

/// The attempts to reach one name.
#[derive(Debug)]
pub struct Attempts {
    waiting: VecDeque<SocketAddr>,
    /// Begun and neither failed nor given up.
    running: Vec<SocketAddr>,
    /// When the next attempt begins.
    next: Time,
    failed: Vec<(SocketAddr, io::Error)>,
}

impl Attempts {
    /// Attempts at the addresses of a name, in the order of the resolver (RFC 6724) except that the
    /// families alternate (RFC 8305 section 4). At most 16 are tried.
    pub fn new(addresses: impl IntoIterator<Item = SocketAddr>) -> Attempts {
        let mut waiting = alternate(addresses);
        waiting.truncate(ADDRESSES_MAX);
        Attempts { waiting, running: Vec::new(), next: Time::ZERO, failed: Vec::new() }
    }

    /// The address at which an attempt begins now, if it is time for one.
    pub fn poll_begin(&mut self, now: Time) -> Option<SocketAddr> {
        if now < self.next {
            return None;
        }
        let address = self.waiting.pop_front()?;
        self.next = now + ATTEMPT_DELAY;
        self.running.push(address);
        Some(address)
    }

    /// When to call [`Attempts::poll_begin`]; `None` if no address is left.
    pub fn poll_timeout(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.next)
    }

    /// The attempt at `address` has failed. The next one may begin at once.
    pub fn fail(&mut self, address: SocketAddr, error: io::Error) {
        self.running.retain(|running| *running != address);
        self.failed.push((address, error));
        self.next = Time::ZERO;
    }

    /// Whether every attempt has failed.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// The error of all attempts. One address alone has its own error. Of several, the error names
    /// each with its reason, and has the kind of the last that failed. Attempts that still run have
    /// timed out.
    pub fn into_error(mut self) -> io::Error {
        let silent = |address| (address, io::Error::from(ErrorKind::TimedOut));
        self.failed.extend(self.running.drain(..).map(silent));
        if self.failed.len() > 1 {
            return summary(&self.failed);
        }
        let only = self.failed.pop().map(|(_, error)| error);
        only.unwrap_or_else(|| io::Error::new(ErrorKind::NotFound, "the name has no address"))
    }
}

/// The addresses without repetitions, the families in turns (RFC 8305 section 4). For callers that can have only
/// one attempt at a time; others use [`Attempts`].
pub fn alternate(addresses: impl IntoIterator<Item = SocketAddr>) -> VecDeque<SocketAddr> {
    let mut families = [VecDeque::new(), VecDeque::new()];
    let mut first = None;
    for address in addresses {
        // A mapped address is reached by IPv4.
        let is_v4 = address.ip().to_canonical().is_ipv4();
        let family = &mut families[usize::from(is_v4 != *first.get_or_insert(is_v4))];
        if !family.contains(&address) {
            family.push_back(address);
        }
    }
    let mut order = VecDeque::new();
    while families.iter().any(|family| !family.is_empty()) {
        order.extend(families.iter_mut().filter_map(VecDeque::pop_front));
    }
    order
}

fn summary(failed: &[(SocketAddr, io::Error)]) -> io::Error {
    let mut text = String::new();
    for (index, (address, error)) in failed.iter().enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        // Writing to a String never fails.
        let _ = write!(text, "{separator}{address}: {error}");
    }
    let kind = failed.last().map_or(ErrorKind::NotFound, |(_, error)| error.kind());
    io::Error::new(kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().expect("an address")).collect()
    }

    fn order(texts: &[&str]) -> Vec<SocketAddr> {
        let mut attempts = Attempts::new(addresses(texts));
        let mut now = Time::ZERO;
        let mut order = Vec::new();
        while let Some(address) = attempts.poll_begin(now) {
            order.push(address);
            assert_eq!(attempts.poll_begin(now), None, "one attempt at a time");
            now += ATTEMPT_DELAY;
        }
        order
    }

    /// RFC 8305 section 4.
    #[test]
    fn families_alternate_and_the_resolvers_first_address_stays_first() {
        let six = ["[fd00::1]:1", "[fd00::2]:1", "[fd00::3]:1"];
        let four = ["10.0.0.1:1", "10.0.0.2:1"];
        let mixed = [six[0], four[0], six[1], four[1], six[2]];
        assert_eq!(order(&[&six[..], &four].concat()), addresses(&mixed));
        let mixed = [four[0], six[0], four[1], six[1], six[2]];
        assert_eq!(order(&[&four[..], &six].concat()), addresses(&mixed));
        assert_eq!(order(&[four[0], four[0], four[1]]), addresses(&four));
        let mapped = ["[::ffff:10.0.0.9]:1", "10.0.0.1:1", "[fd00::1]:1"];
        assert_eq!(order(&mapped), addresses(&[mapped[0], mapped[2], mapped[1]]));
    }

    #[test]
    fn many_dead_addresses_of_one_family_do_not_hide_the_other() {
        let six = (1..200_u16).map(|last| SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, last], 1)));
        let mut attempts = Attempts::new(six.chain(addresses(&["10.0.0.1:1"])));
        assert!(attempts.poll_begin(Time::ZERO).is_some_and(|address| address.is_ipv6()));
        let second = attempts.poll_begin(Time::ZERO + ATTEMPT_DELAY);
        assert!(second.is_some_and(|address| address.is_ipv4()));
    }

    /// RFC 8305 section 5.
    #[test]
    fn an_attempt_begins_after_250_ms_or_at_once_after_a_failure() {
        let list = addresses(&["[fd00::1]:1", "10.0.0.1:1", "10.0.0.2:1"]);
        let mut attempts = Attempts::new(list.clone());
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        assert_eq!(attempts.poll_begin(at(0)), Some(list[0]));
        assert_eq!((attempts.poll_begin(at(249)), attempts.poll_timeout()), (None, Some(at(250))));
        assert_eq!(attempts.poll_begin(at(250)), Some(list[1]));
        attempts.fail(list[1], ErrorKind::ConnectionRefused.into());
        assert_eq!(attempts.poll_begin(at(251)), Some(list[2]));
        assert_eq!(attempts.poll_timeout(), None);
        attempts.fail(list[2], ErrorKind::ConnectionRefused.into());
        assert!(!attempts.is_over(), "the first still runs");
        attempts.fail(list[0], ErrorKind::HostUnreachable.into());
        assert!(attempts.is_over());
    }

    #[test]
    fn the_error_names_every_address_that_was_tried() {
        let list = addresses(&["[fd00::1]:7", "10.0.0.1:7"]);
        let mut attempts = Attempts::new(list.clone());
        let _ = attempts.poll_begin(Time::ZERO);
        let _ = attempts.poll_begin(Time::ZERO + ATTEMPT_DELAY);
        attempts.fail(list[1], ErrorKind::ConnectionRefused.into());
        let error = attempts.into_error();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "the first never answered");
        let text = error.to_string();
        assert_eq!(text, "10.0.0.1:7: connection refused; [fd00::1]:7: timed out");
        let error = Attempts::new([]).into_error();
        assert_eq!(error.to_string(), "the name has no address");
    }

    #[test]
    fn one_address_has_its_own_error_with_its_number() {
        let mut attempts = Attempts::new(addresses(&["10.0.0.1:7"]));
        let address = attempts.poll_begin(Time::ZERO).expect("one");
        attempts.fail(address, io::Error::from_raw_os_error(2));
        assert_eq!(attempts.into_error().raw_os_error(), Some(2));
    }
}
