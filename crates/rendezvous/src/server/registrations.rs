//! The keys that are registered, and where their hosts are.

use std::collections::{BTreeMap, BTreeSet};

use windlass_base::{Deadlines, Rng, Span, Time};
use windlass_identity::PublicKey;

use super::Path;
use super::nonces::Serial;
use super::shares::Shares;
use crate::message::{Instance, Token};

/// Entries of a full table that are looked at to find one that makes room.
const CANDIDATES: usize = 8;

/// One registered key.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    pub(super) path: Path,
    pub(super) instance: Instance,
    pub(super) token: Token,
    /// Of the nonce of the request.
    pub(super) serial: Serial,
    pub(super) expires: Time,
}

/// Why a key cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unregistered {
    /// Another instance has registered it, for this long.
    Held(Span),
    /// The table, or the share of the host's network, is full.
    Full,
}

pub(super) struct Registrations {
    by_key: BTreeMap<PublicKey, Registration>,
    by_token: BTreeMap<Token, PublicKey>,
    by_stream: BTreeMap<u64, BTreeSet<PublicKey>>,
    by_expiry: Deadlines<PublicKey>,
    shares: Shares,
    max: usize,
}

impl Registrations {
    pub(super) fn new(max: usize, max_per_network: usize) -> Registrations {
        Registrations {
            by_key: BTreeMap::new(),
            by_token: BTreeMap::new(),
            by_stream: BTreeMap::new(),
            by_expiry: Deadlines::default(),
            shares: Shares::new(max, max_per_network),
            max,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The registration of a key, if it has not expired.
    pub(super) fn get(&self, now: Time, key: &PublicKey) -> Option<&Registration> {
        self.by_key.get(key).filter(|one| one.expires > now)
    }

    /// Registers a key, or renews its registration on another path. A full table makes room at the
    /// cost of a network that has more of it.
    pub(super) fn insert(
        &mut self,
        now: Time,
        key: PublicKey,
        new: Registration,
        rng: &mut Rng,
    ) -> Result<(), Unregistered> {
        // Two programs with one key would take it from each other in turns.
        if let Some(old) = self.get(now, &key).filter(|old| old.instance != new.instance) {
            return Err(Unregistered::Held(old.expires.saturating_since(now)));
        }
        self.expire(now);
        // Its own entry must not count against the host.
        let old = self.remove(&key);
        if self.has_room(&new, rng) {
            self.add(key, new);
            return Ok(());
        }
        if let Some(old) = old {
            self.add(key, old);
        }
        Err(Unregistered::Full)
    }

    fn has_room(&mut self, new: &Registration, rng: &mut Rng) -> bool {
        let address = new.path.address();
        if self.shares.full(address).is_some() {
            return false;
        }
        if self.by_key.len() < self.max {
            return true;
        }
        // Tokens are random, so that no host can choose which entries are looked at.
        for _ in 0..CANDIDATES {
            let from = u128::from(rng.bits()) << 64 | u128::from(rng.bits());
            let mut after = self.by_token.range(from.to_be_bytes()..);
            let found = after.next().or_else(|| self.by_token.first_key_value());
            let Some(key) = found.map(|(_, key)| *key) else { return false };
            let held = self.by_key.get(&key).map(|held| held.path.address());
            if held.is_some_and(|held| self.shares.yields(held, address)) {
                self.remove(&key);
                return true;
            }
        }
        false
    }

    fn add(&mut self, key: PublicKey, new: Registration) {
        self.shares.add(new.path.address());
        self.by_token.insert(new.token, key);
        self.by_expiry.insert(new.expires, key);
        if let Some(stream) = new.path.stream() {
            self.by_stream.entry(stream).or_default().insert(key);
        }
        self.by_key.insert(key, new);
    }

    /// Keeps the registration with this token until `expires`. False if there is none, or it is on
    /// another path.
    pub(super) fn keep(&mut self, now: Time, token: &Token, path: Path, expires: Time) -> bool {
        let Some(key) = self.by_token.get(token) else { return false };
        let held = self.by_key.get_mut(key);
        match held.filter(|one| one.expires > now && one.path == path) {
            // The token came by the path that is registered: nothing is to be proved again.
            Some(registration) => {
                self.by_expiry.remove(registration.expires, *key);
                self.by_expiry.insert(expires, *key);
                registration.expires = expires;
                true
            }
            None => false,
        }
    }

    /// Ends the registration with this token.
    pub(super) fn end(&mut self, token: &Token) {
        if let Some(key) = self.by_token.get(token).copied() {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &PublicKey) -> Option<Registration> {
        let old = self.by_key.remove(key)?;
        self.by_token.remove(&old.token);
        self.by_expiry.remove(old.expires, *key);
        self.shares.remove(old.path.address());
        if let Some(stream) = old.path.stream()
            && let Some(keys) = self.by_stream.get_mut(&stream)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.by_stream.remove(&stream);
            }
        }
        Some(old)
    }

    /// Removes what has expired.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some((_, key)) = self.by_expiry.pop(now) {
            self.remove(&key);
        }
    }

    /// Removes the registrations of a stream that has ended.
    pub(super) fn remove_stream(&mut self, stream: u64) {
        for key in self.by_stream.remove(&stream).unwrap_or_default() {
            self.remove(&key);
        }
    }

    /// Asserts that the indexes agree with the table.
    pub(super) fn check(&self) {
        assert!(self.by_key.len() <= self.max);
        self.shares.check(self.by_key.values().map(|one| one.path.address()));
        let expiries = self.by_key.iter().map(|(key, one)| (one.expires, *key));
        assert_eq!(self.by_expiry, expiries.collect());
        let tokens = self.by_key.iter().map(|(key, one)| (one.token, *key));
        assert_eq!(self.by_token, tokens.collect());
        let mut streams: BTreeMap<u64, BTreeSet<PublicKey>> = BTreeMap::new();
        for (key, one) in &self.by_key {
            if let Some(stream) = one.path.stream() {
                streams.entry(stream).or_default().insert(*key);
            }
        }
        assert_eq!(self.by_stream, streams);
    }
}
