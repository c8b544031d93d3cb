//! The keys that are registered, and where their hosts are.

use std::collections::BTreeMap;

use windlass_base::{Span, Time};
use windlass_identity::PublicKey;

use super::Path;
use super::source::network;
use crate::message::{Instance, Token};

/// One registered key.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    pub(super) path: Path,
    pub(super) instance: Instance,
    pub(super) token: Token,
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
    per_network: BTreeMap<u64, usize>,
    max: usize,
    max_per_network: usize,
}

impl Registrations {
    pub(super) fn new(max: usize, max_per_network: usize) -> Registrations {
        Registrations {
            by_key: BTreeMap::new(),
            by_token: BTreeMap::new(),
            per_network: BTreeMap::new(),
            max,
            max_per_network,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The registration of a key, if it has not expired.
    pub(super) fn get(&self, now: Time, key: &PublicKey) -> Option<&Registration> {
        self.by_key.get(key).filter(|one| one.expires > now)
    }

    /// Registers a key, or renews its registration at another place.
    pub(super) fn insert(
        &mut self,
        now: Time,
        key: PublicKey,
        new: Registration,
    ) -> Result<(), Unregistered> {
        if let Some(old) = self.get(now, &key).filter(|old| old.instance != new.instance) {
            return Err(Unregistered::Held(old.expires.saturating_since(now)));
        }
        self.remove(&key);
        let share = self.per_network.get(&network(new.path.address())).copied().unwrap_or(0);
        if self.by_key.len() >= self.max {
            self.expire(now);
        }
        if self.by_key.len() >= self.max || share >= self.max_per_network {
            return Err(Unregistered::Full);
        }
        *self.per_network.entry(network(new.path.address())).or_default() += 1;
        self.by_token.insert(new.token, key);
        self.by_key.insert(key, new);
        Ok(())
    }

    /// Keeps the registration with this token until `expires`. False if there is none, or it is at
    /// another place.
    pub(super) fn keep(&mut self, now: Time, token: &Token, path: Path, expires: Time) -> bool {
        let key = self.by_token.get(token);
        let held = key.and_then(|key| self.by_key.get_mut(key));
        match held.filter(|one| one.expires > now && one.path == path) {
            Some(registration) => {
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

    fn remove(&mut self, key: &PublicKey) {
        let Some(old) = self.by_key.remove(key) else { return };
        self.by_token.remove(&old.token);
        let source = network(old.path.address());
        if let Some(share) = self.per_network.get_mut(&source) {
            *share -= 1;
            if *share == 0 {
                self.per_network.remove(&source);
            }
        }
    }

    /// Removes what has expired.
    pub(super) fn expire(&mut self, now: Time) {
        self.remove_if(|one| one.expires <= now);
    }

    /// Removes the registrations of a stream that has ended.
    pub(super) fn remove_stream(&mut self, stream: u64) {
        self.remove_if(|one| one.path.stream() == Some(stream));
    }

    fn remove_if(&mut self, over: impl Fn(&Registration) -> bool) {
        let keys: Vec<_> =
            self.by_key.iter().filter(|(_, one)| over(one)).map(|(key, _)| *key).collect();
        for key in keys {
            self.remove(&key);
        }
    }
}
