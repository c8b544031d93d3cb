//! Nonces, each with a serial number: the order in which the server gave them.

use std::net::SocketAddr;

use windlass_base::Time;

use super::source::{ENTRIES, Secret};
use crate::message::Nonce;

/// How long a nonce is valid.
const LIFETIME_US: u64 = 240_000_000;
/// Serial numbers lead the clock by at most this, when more than one nonce is given in each
/// microsecond.
const CLOCK_LEAD_US: u64 = 1_000_000;
/// The serial number's share of a nonce: enough for two thousand years of microseconds.
const SERIAL_BITS: u32 = 56;
/// Digits of 5 bits. A greeting of 80 bytes gets an answer of 80 bytes with it over IPv6.
const DIGITS: u32 = 24;

/// Orders the nonces of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Serial(u64);

/// Gives nonces. Nothing is remembered about one: it holds its serial number, which is also the time,
/// and a keyed hash of it and of the address.
pub(super) struct Nonces {
    secret: Secret,
    last: u64,
}

impl Nonces {
    pub(super) fn new(secret: Secret) -> Nonces {
        Nonces { secret, last: 0 }
    }

    /// A nonce for an address, newer than all before.
    pub(super) fn draw(&mut self, now: Time, address: SocketAddr) -> Nonce {
        let now_us = now.as_nanos() / 1000;
        self.last = now_us.clamp(self.last + 1, (1 << SERIAL_BITS) - 1);
        let value = u128::from(self.last) << 64 | u128::from(self.proof(self.last, address));
        let digit = |at: u32| ((value >> (5 * at)) & 31) as u32;
        let digits = (0..DIGITS).rev().filter_map(|at| char::from_digit(digit(at), 32));
        Nonce::new(&digits.collect::<String>()).expect("24 digits are a nonce")
    }

    /// The serial number of a nonce that the server gave to this address in the last four minutes.
    pub(super) fn verify(&self, now: Time, address: SocketAddr, nonce: &str) -> Option<Serial> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'v').contains(&byte);
        if nonce.len() != DIGITS as usize || !nonce.bytes().all(is_digit) {
            return None;
        }
        let value = u128::from_str_radix(nonce, 32).ok()?;
        let (serial, proof) = ((value >> 64) as u64, value as u64);
        let now_us = now.as_nanos() / 1000;
        let fresh = serial + LIFETIME_US > now_us && serial <= now_us + CLOCK_LEAD_US;
        (fresh && proof == self.proof(serial, address)).then_some(Serial(serial))
    }

    fn proof(&self, serial: u64, address: SocketAddr) -> u64 {
        self.secret.hash(1, (serial, address)) as u64
    }
}

/// The newest nonce with which a key was registered. An older one is a copy of an earlier message,
/// perhaps from a forged address: it would move the registration back. A key shares its slot with
/// few others, and a host that is refused for one of them asks again with a new nonce.
pub(super) struct Newest {
    slots: Vec<u64>,
    /// Nonces of an earlier run are too old: it may have seen newer ones.
    start: Option<u64>,
}

impl Newest {
    pub(super) fn new() -> Newest {
        Newest { slots: vec![0; ENTRIES], start: None }
    }

    /// Notes the time of the first message.
    pub(super) fn begin(&mut self, now: Time) {
        self.start.get_or_insert(now.as_nanos() / 1000);
    }

    fn slot(&mut self, secret: &Secret, key: &[u8; 32]) -> &mut u64 {
        &mut self.slots[secret.hash(6, key) as usize % ENTRIES]
    }

    /// Whether this nonce is newer than the key's last one.
    pub(super) fn admits(
        &mut self,
        secret: &Secret,
        key: &[u8; 32],
        Serial(serial): Serial,
    ) -> bool {
        self.start.is_some_and(|start| start <= serial) && *self.slot(secret, key) < serial
    }

    /// The key was registered with this nonce.
    pub(super) fn note(&mut self, secret: &Secret, key: &[u8; 32], Serial(serial): Serial) {
        let slot = self.slot(secret, key);
        *slot = serial.max(*slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::Span;

    const LIFETIME: Span = Span::from_micros(LIFETIME_US);

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn nonces() -> Nonces {
        Nonces::new(Secret::new([7; 16]))
    }

    #[test]
    fn a_nonce_is_valid_for_its_address_and_for_four_minutes() {
        let (host, other) = (address("192.0.2.1:1"), address("192.0.2.1:2"));
        let at = |s| Time::ZERO + Span::from_secs(s);
        let mut nonces = nonces();
        let nonce = nonces.draw(at(1130), host);
        let valid = |now, from, text: &str| nonces.verify(now, from, text).is_some();
        assert!(valid(at(1130), host, nonce.as_str()));
        assert!(valid(at(1130 + 239), host, nonce.as_str()));
        assert!(!valid(at(1130) + LIFETIME, host, nonce.as_str()));
        assert!(!valid(at(1128), host, nonce.as_str()), "given in the future");
        assert!(!valid(at(1131), other, nonce.as_str()));
        for wrong in ["", "0", "zzzzzzzzzzzzzzzzzzzzzzzz", "+00000000000000000000000", "é"] {
            assert!(!valid(at(1131), host, wrong), "{wrong}");
        }
        let mut changed = nonce.as_str().to_owned().into_bytes();
        changed[3] ^= 1;
        assert!(!valid(at(1131), host, &String::from_utf8(changed).expect("ASCII")));
    }

    #[test]
    fn each_nonce_is_newer_than_the_one_before() {
        let (mut nonces, host) = (nonces(), address("[2001:db8::1]:1"));
        let now = Time::ZERO + Span::from_secs(1000);
        let mut last = None;
        for _ in 0..100 {
            let nonce = nonces.draw(now, host);
            let serial = nonces.verify(now, host, nonce.as_str());
            assert!(serial > last);
            last = serial;
        }
        nonces.draw(now + Span::from_secs(9), host);
        let earlier = nonces.draw(now, host);
        let serial = nonces.verify(now + Span::from_secs(9), host, earlier.as_str());
        assert!(serial > last, "a clock that went back");
    }

    #[test]
    fn a_nonce_before_the_last_one_of_a_key_is_refused() {
        let (mut newest, secret) = (Newest::new(), Secret::new([7; 16]));
        let second = Time::ZERO + Span::from_secs(1);
        assert!(!newest.admits(&secret, &[1; 32], Serial(2_000_000)), "not begun");
        newest.begin(second);
        assert!(!newest.admits(&secret, &[1; 32], Serial(999_999)), "of an earlier run");
        assert!(newest.admits(&secret, &[1; 32], Serial(2_000_000)));
        newest.note(&secret, &[1; 32], Serial(2_000_000));
        assert!(!newest.admits(&secret, &[1; 32], Serial(2_000_000)));
        assert!(newest.admits(&secret, &[1; 32], Serial(2_000_001)));
        assert!(newest.admits(&secret, &[2; 32], Serial(2_000_000)), "another key");
    }
}
