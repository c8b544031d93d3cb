//! State of each source of datagrams: whether its address is verified, and how fast it may ask. The
//! tables have a fixed size, whatever arrives.

use std::hash::{Hash, Hasher};
use std::net::SocketAddr;

use siphasher::sip128::{Hasher128, SipHasher24};
use windlass_base::{RateLimit, Time, TokenBucket};

use super::shares::{LEVELS, networks};

/// Entries of each table. A source shares its slot with few others, and an attacker cannot choose
/// with whom, since the slot is a keyed hash.
pub(super) const ENTRIES: usize = 1 << 15;
/// How many requests the wider networks of an IPv6 address may send, in shares of a /64: a /48, a /32.
const WIDER: [u32; LEVELS] = [1, 8, 64];
/// Addresses that have a credit in one slot. With one only, two hosts of the same slot would end
/// each other's credit. The hosts of a session ask for a relay at the same times, and the challenge is
/// longer than the first Allocate request (RFC 8489, section 9.2.3.1): neither would ever get it.
const CREDITS_PER_SLOT: usize = 8;
/// Bytes that the server may send to an address after it has proved itself, beyond what it sends.
const VERIFIED_CREDIT_BYTES: u32 = 64 << 10;

/// A secret of the server from which it derives what it need not remember.
#[derive(Clone, Copy)]
pub(crate) struct Secret([u8; 16]);

impl Secret {
    pub(crate) fn new(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    /// A keyed hash of `value`. `purpose` keeps the uses apart.
    pub(super) fn hash(&self, purpose: u8, value: impl Hash) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u8(purpose);
        value.hash(&mut hasher);
        hasher.finish128().as_u128()
    }
}

/// The bytes that may be sent to each address. An address that has not proved itself gets at most
/// what came from it, so that the server cannot amplify a flood with forged sources.
pub(super) struct Credits {
    /// In each slot, the address that was last used stands first.
    slots: Vec<[Option<(SocketAddr, u32)>; CREDITS_PER_SLOT]>,
}

impl Credits {
    pub(super) fn new() -> Credits {
        Credits { slots: vec![[None; CREDITS_PER_SLOT]; ENTRIES / CREDITS_PER_SLOT] }
    }

    /// The credit of an address. A new address takes the entry of the one that was silent longest.
    fn entry(&mut self, secret: &Secret, address: SocketAddr) -> &mut u32 {
        let at = secret.hash(2, address) as usize % self.slots.len();
        let slot = &mut self.slots[at];
        let known = slot.iter().position(|one| one.is_some_and(|(of, _)| of == address));
        slot[..=known.unwrap_or(CREDITS_PER_SLOT - 1)].rotate_right(1);
        if known.is_none() {
            slot[0] = None;
        }
        &mut slot[0].get_or_insert((address, 0)).1
    }

    /// A datagram of `len` bytes came from the address.
    pub(super) fn received(&mut self, secret: &Secret, address: SocketAddr, len: usize) {
        let credit = self.entry(secret, address);
        // A request that is never answered earns no more than some answers.
        *credit = credit.saturating_add(len as u32).min((*credit).max(2048));
    }

    /// The address has shown that it receives what is sent to it.
    pub(super) fn verified(&mut self, secret: &Secret, address: SocketAddr) {
        *self.entry(secret, address) = VERIFIED_CREDIT_BYTES;
    }

    /// Takes the credit for `len` bytes to the address. False if it has too little.
    pub(super) fn spend(&mut self, secret: &Secret, address: SocketAddr, len: usize) -> bool {
        let credit = self.entry(secret, address);
        let enough = *credit as usize >= len;
        if enough {
            *credit -= len as u32;
        }
        enough
    }
}

/// How many requests that cost work each network may send. A subscriber of IPv6 has many networks of
/// 64 bits: without limits of the wider ones, one could use up the buckets that all others share.
pub(crate) struct Buckets {
    levels: [(RateLimit, Vec<TokenBucket>); LEVELS],
}

impl Buckets {
    /// `per_s` requests of an IPv4 address or an IPv6 /64, `burst` at once.
    pub(crate) fn new(per_s: u32, burst: u32) -> Buckets {
        let levels = WIDER.map(|times| {
            let (per_s, burst) = (per_s.saturating_mul(times), burst.saturating_mul(times));
            let limit = RateLimit::per_second(per_s.into(), burst.into());
            (limit, vec![TokenBucket::default(); ENTRIES])
        });
        Buckets { levels }
    }

    /// Takes a token of each network of `address`. False if one has none left.
    pub(crate) fn take(&mut self, secret: &Secret, now: Time, address: SocketAddr) -> bool {
        // The addresses of an IPv4 network are too few to use up the buckets.
        let is_ipv4 = address.ip().to_canonical().is_ipv4();
        let levels = if is_ipv4 { 1 } else { LEVELS };
        let limited = networks(address).into_iter().zip(&mut self.levels).take(levels);
        let mut widest_first = limited.collect::<Vec<_>>().into_iter().rev();
        widest_first.all(|(network, (limit, entries))| {
            let at = secret.hash(3, network) as usize % ENTRIES;
            entries[at].take(limit, now, 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    const SECRET: Secret = Secret([7; 16]);

    #[test]
    fn an_address_gets_at_most_what_came_from_it_until_it_is_verified() {
        let mut credits = Credits::new();
        let host = address("[2001:db8::1]:1");
        assert!(!credits.spend(&SECRET, host, 1));
        credits.received(&SECRET, host, 100);
        assert!(!credits.spend(&SECRET, host, 101));
        assert!(credits.spend(&SECRET, host, 60) && !credits.spend(&SECRET, host, 41));
        credits.verified(&SECRET, host);
        assert!(credits.spend(&SECRET, host, 5000));
    }

    /// Addresses of the same slot of the table of credits.
    fn neighbours(count: usize) -> Vec<SocketAddr> {
        let slots = ENTRIES / CREDITS_PER_SLOT;
        let all = (0..=u32::MAX).map(|bits| SocketAddr::from((std::net::Ipv4Addr::from(bits), 1)));
        all.filter(|host| (SECRET.hash(2, host) as usize).is_multiple_of(slots))
            .take(count)
            .collect()
    }

    #[test]
    fn neighbours_that_take_turns_keep_their_credits() {
        let mut credits = Credits::new();
        let hosts = neighbours(8);
        for _ in 0..2 {
            hosts.iter().for_each(|host| credits.received(&SECRET, *host, 40));
        }
        assert!(hosts.iter().all(|host| credits.spend(&SECRET, *host, 60)));
        assert!(!hosts.iter().any(|host| credits.spend(&SECRET, *host, 21)), "no one else's");
    }

    #[test]
    fn the_neighbour_that_was_silent_longest_loses_its_credit() {
        let mut credits = Credits::new();
        let hosts = neighbours(9);
        hosts[..8].iter().for_each(|host| credits.verified(&SECRET, *host));
        credits.received(&SECRET, hosts[0], 1);
        credits.received(&SECRET, hosts[8], 1);
        assert!(!credits.spend(&SECRET, hosts[8], 2), "credit of an earlier address");
        let kept = [0, 2, 3, 4, 5, 6, 7];
        assert!(kept.iter().all(|at| credits.spend(&SECRET, hosts[*at], 5000)));
        assert!(!credits.spend(&SECRET, hosts[1], 1));
    }

    #[test]
    fn a_network_may_ask_as_often_as_its_bucket_allows() {
        let mut buckets = Buckets::new(10, 3);
        let (host, neighbour) = (address("[2001:db8::1]:1"), address("[2001:db8::2]:9"));
        let mut take =
            |address, ms| buckets.take(&SECRET, Time::ZERO + Span::from_millis(ms), address);
        assert!(take(host, 0) && take(neighbour, 0) && take(host, 0));
        assert!(!take(host, 99), "a tenth of a second for the next one");
        assert!(take(neighbour, 100) && !take(host, 100));
    }

    #[test]
    fn all_networks_of_a_subscriber_together_may_ask_eight_times_as_often() {
        let mut buckets = Buckets::new(10, 3);
        let taken = (0..100).filter(|subnet| {
            let host = address(&format!("[2a00:1:2:{subnet:x}::1]:1"));
            (0..3).filter(|_| buckets.take(&SECRET, Time::ZERO, host)).count() == 3
        });
        assert_eq!(taken.count(), 8);
        let ipv4 = (0..100).map(|last| address(&format!("9.9.9.{last}:1")));
        assert!(ipv4.into_iter().all(|host| buckets.take(&SECRET, Time::ZERO, host)));
    }
}
