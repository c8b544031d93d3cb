//! TLS of simulated hosts: one server with a fixed key and certificate, at a fixed date.
//!
//! Randomness comes from [`windlass_stacks_seeded`]. The keys of the key exchange are ring's, which draws them from
//! the system; they have the same size in each run.

use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, RootCertStore, ServerConfig};
use std::sync::Arc;
use std::time::Duration;

/// The name of the server in its certificate.
pub const SERVER_NAME: &str = "simulated";

/// A certificate for [`SERVER_NAME`] from 30 November 2026 on, for 100 years, signed with its own key (Ed25519, whose signatures all have
/// the same size). It protects nothing.
const CERTIFICATE: &[u8] = include_bytes!("identity/certificate.der");
/// Its key in PKCS #8.
const KEY: &[u8] = include_bytes!("identity/key.der");

/// The date of every run: 1 January 2027, in seconds of Unix time.
const DATE_S: u64 = 1_798_761_600;

/// The client, which trusts the server's certificate.
///
/// # Errors
///
/// rustls refuses the certificate or the provider.
pub fn client() -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate())?;
    let config = ClientConfig::builder_with_details(provider(), Arc::new(FixedDate))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// The server.
///
/// # Errors
///
/// rustls refuses the certificate, the key or the provider.
pub fn server() -> Result<ServerConfig, Error> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    ServerConfig::builder_with_details(provider(), Arc::new(FixedDate))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate()], key)
}

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from(CERTIFICATE)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider { secure_random: &Seeded, ..ring::default_provider() })
}

/// The thread's randomness.
#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        windlass_stacks_seeded::fill(buffer).map_err(|_| GetRandomFailed)
    }
}

/// A clock that stands.
#[derive(Debug)]
struct FixedDate;

impl TimeProvider for FixedDate {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(DATE_S)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_and_its_key_belong_together() {
        client().expect("a client");
        server().expect("a server");
    }
}
