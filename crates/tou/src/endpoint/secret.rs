//! Keyed hashes for initial sequence numbers and SYN cookies.

use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use windlass_base::Time;
use windlass_tcp::SeqNumber;

/// Tick of the sequence number clock in nanoseconds (RFC 6528 §3: 4 µs).
const CLOCK_NS: u64 = 4000;

/// The key of an endpoint. An endpoint has one address, so the peer's address alone identifies the
/// connection.
pub(super) struct Secret(SipHasher24);

/// Separates the uses of the key, so that one hash reveals nothing about another.
#[derive(Hash)]
enum Purpose {
    InitialSequenceNumber,
    Cookie,
}

impl Secret {
    pub(super) fn new(key: [u8; 16]) -> Secret {
        Secret(SipHasher24::new_with_key(&key))
    }

    /// The sum of a clock and a secret offset (RFC 6528 §3).
    pub(super) fn initial_sequence_number(&self, now: Time, peer: SocketAddr) -> SeqNumber {
        let offset = self.hash((Purpose::InitialSequenceNumber, peer));
        SeqNumber((now.as_nanos() / CLOCK_NS).wrapping_add(offset) as u32)
    }

    /// The 24-bit keyed hash of a cookie's input.
    pub(super) fn cookie_tag(&self, input: impl Hash) -> u32 {
        (self.hash((Purpose::Cookie, input)) & 0xff_ffff) as u32
    }

    fn hash(&self, value: impl Hash) -> u64 {
        let mut hasher = self.0;
        value.hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_go_on_with_the_clock_and_differ_by_peer_and_key() {
        let [a, b] = [[1; 16], [2; 16]].map(Secret::new);
        let [peer, other] = ["10.0.0.1:7", "10.0.0.1:8"].map(|peer| peer.parse().expect("one"));
        let at = |us: u64| Time::from_nanos(us * 1000);
        let first = a.initial_sequence_number(at(1_000_000), peer);
        // RFC 6528 §3: 250,000 in a second.
        assert_eq!(a.initial_sequence_number(at(2_000_000), peer), first.at(250_000));
        assert_ne!(a.initial_sequence_number(at(1_000_000), other), first);
        assert_ne!(b.initial_sequence_number(at(1_000_000), peer), first);
    }
}
