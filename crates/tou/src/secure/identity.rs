//! The credentials of an end: its own key, and the keys that it accepts.

use rustls::crypto::ring::{cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::Arc;
use windlass_identity::{PublicKey, SecretKey};

/// The key of this host, prepared for handshakes. Clones share it.
#[derive(Clone)]
pub struct Identity(Arc<Own>);

struct Own {
    public: PublicKey,
    certified: Arc<CertifiedKey>,
    provider: Arc<CryptoProvider>,
}

impl Identity {
    /// Prepares `key` for handshakes.
    pub fn new(key: &SecretKey) -> Identity {
        let provider = provider();
        let signer = provider
            .key_provider
            .load_private_key(key.to_pkcs8_der().into())
            .expect("the provider reads Ed25519 keys");
        let public = key.public_key();
        let spki = CertificateDer::from(public.to_spki_der().to_vec());
        let certified = Arc::new(CertifiedKey::new(vec![spki], signer));
        Identity(Arc::new(Own { public, certified, provider: Arc::new(provider) }))
    }

    /// The public key.
    pub fn public_key(&self) -> PublicKey {
        self.0.public
    }

    pub(super) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.certified)
    }

    pub(super) fn provider(&self) -> Arc<CryptoProvider> {
        Arc::clone(&self.0.provider)
    }
}

impl From<&SecretKey> for Identity {
    fn from(key: &SecretKey) -> Identity {
        Identity::new(key)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.0.public).finish()
    }
}

/// AES-128-GCM first: with the processor's instructions it is the fastest. One group, so that the
/// client's first message always fits and no HelloRetryRequest costs a round trip.
fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
            cipher_suite::TLS13_AES_256_GCM_SHA384,
        ],
        kx_groups: vec![kx_group::X25519],
        ..ring::default_provider()
    }
}

/// The keys of peers that a server accepts. Clones share it.
#[derive(Clone)]
pub struct Allow(Arc<Rule>);

type Rule = dyn Fn(&PublicKey) -> bool + Send + Sync;

impl Allow {
    /// These keys and no others.
    pub fn keys(keys: impl IntoIterator<Item = PublicKey>) -> Allow {
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_unstable();
        Allow::when(move |key| keys.binary_search(key).is_ok())
    }

    /// Any key for which `rule` returns true. Each handshake calls it once, after the peer has
    /// proved possession of the key.
    pub fn when(rule: impl Fn(&PublicKey) -> bool + Send + Sync + 'static) -> Allow {
        Allow(Arc::new(rule))
    }

    /// Every key. The peer is then authenticated only in that it has the key that
    /// [`SecureStream::peer_key`](super::SecureStream::peer_key) returns.
    pub fn any() -> Allow {
        Allow::when(|_| true)
    }

    /// Whether `key` is accepted.
    pub fn permits(&self, key: &PublicKey) -> bool {
        (self.0)(key)
    }
}

impl fmt::Debug for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allow").finish_non_exhaustive()
    }
}
