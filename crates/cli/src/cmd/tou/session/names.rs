//! The names that the configuration gives to peers.

use std::collections::BTreeMap;
use std::sync::Arc;
use windlass_identity::PublicKey;

/// The names of peers by their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(Arc<BTreeMap<PublicKey, String>>);

impl Names {
    pub(super) fn new(peers: &BTreeMap<String, PublicKey>) -> Names {
        Names(Arc::new(peers.iter().map(|(name, key)| (*key, name.clone())).collect()))
    }

    /// The configured name.
    pub(super) fn get(&self, key: &PublicKey) -> Option<String> {
        self.0.get(key).cloned()
    }

    /// The configured name, or the key.
    pub(super) fn of(&self, key: &PublicKey) -> String {
        self.get(key).unwrap_or_else(|| key.to_string())
    }
}
