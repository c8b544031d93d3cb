//! TLS to the server, which has a raw public key instead of a certificate (RFC 7250).

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, PeerIncompatible, SignatureScheme};
use windlass_identity::PublicKey;

/// The settings of a TLS connection to the server with the key `expected`, or to any. If the server
/// shows another key, the handshake fails, and `wrong_key` gets that key.
pub fn tls_config(
    expected: Option<PublicKey>,
    wrong_key: Arc<OnceLock<PublicKey>>,
) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(Verifier { expected, wrong_key, provider: Arc::clone(&provider) });
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth()
}

#[derive(Debug)]
struct Verifier {
    expected: Option<PublicKey>,
    wrong_key: Arc<OnceLock<PublicKey>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        presented: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = PublicKey::from_spki_der(presented)
            .map_err(|error| Error::General(format!("the rendezvous's key: {error}")))?;
        match self.expected {
            Some(expected) if expected != found => {
                let _ = self.wrong_key.set(found);
                let text = format!("the rendezvous has the key {found}, expected {expected}");
                Err(Error::General(text))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        presented: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(presented.as_ref());
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
