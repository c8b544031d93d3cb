//! What only this endpoint can compute: initial sequence numbers and the marks of its cookies.

use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use windlass_base::Time;
use windlass_tcp::SeqNumber;

/// RFC 6528 §3: the clock of sequence numbers goes on by one each 4 µs.
const CLOCK_NS: u64 = 4000;

/// A key that lives as long as its endpoint. One endpoint has one address, so the peer's alone tells
/// the connection.
pub(super) struct Secret(SipHasher24);

/// What a hash is for, so that none says anything of the other.
#[derive(Hash)]
enum Purpose {
    InitialSequenceNumber,
    Cookie,
}

impl Secret {
    pub(super) fn new(key: [u8; 16]) -> Secret {
        Secret(SipHasher24::new_with_key(&key))
    }

    /// RFC 6528 §3: a clock, and an offset that nobody else can guess.
    pub(super) fn initial_sequence_number(&self, now: Time, peer: SocketAddr) -> SeqNumber {
        let offset = self.hash((Purpose::InitialSequenceNumber, peer));
        SeqNumber((now.as_nanos() / CLOCK_NS).wrapping_add(offset) as u32)
    }

    /// 24 bits over what a cookie vouches for.
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
