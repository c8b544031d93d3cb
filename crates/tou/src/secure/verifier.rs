//! Checks the peer's key during the handshake.
//!
//! The key is judged when its signature has been verified. So a refusal names a key that the peer
//! has, and a host without the key cannot find out whether it is allowed.

use super::{Allow, Error};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, SignatureScheme};
use std::sync::{Arc, OnceLock};
use windlass_identity::PublicKey;

/// Which keys one connection accepts.
#[derive(Debug)]
pub(super) enum Accepted {
    /// The client's view: the one key that the server must have.
    Only(PublicKey),
    /// The server's view.
    Allowed(Allow),
}

/// The verifier of one connection, and its verdict.
#[derive(Debug)]
pub(super) struct Verifier {
    accepted: Accepted,
    verdict: OnceLock<Result<PublicKey, Error>>,
}

impl Verifier {
    pub(super) fn new(accepted: Accepted) -> Arc<Verifier> {
        Arc::new(Verifier { accepted, verdict: OnceLock::new() })
    }

    /// The peer's key, or why it was not accepted; `None` before the peer has proved possession.
    pub(super) fn verdict(&self) -> Option<&Result<PublicKey, Error>> {
        self.verdict.get()
    }

    fn judge(&self, key: PublicKey) -> Result<PublicKey, Error> {
        match &self.accepted {
            Accepted::Only(expected) if *expected == key => Ok(key),
            Accepted::Only(expected) => Err(Error::WrongPeer { expected: *expected, found: key }),
            Accepted::Allowed(allow) if allow.permits(&key) => Ok(key),
            Accepted::Allowed(_) => Err(Error::NotAllowed(key)),
        }
    }

    fn verify(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let key = parse(spki)?;
        // RFC 8446, section 4.4.3: CertificateVerify proves possession of the key.
        let is_valid = signed.scheme == SignatureScheme::ED25519
            && key.verify(message, signed.signature()).is_ok();
        if !is_valid {
            return Err(CertificateError::BadSignature.into());
        }
        match self.verdict.get_or_init(|| self.judge(key)) {
            Ok(_) => Ok(HandshakeSignatureValid::assertion()),
            // The peer gets the alert access_denied.
            Err(_) => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

/// A raw public key takes the place of the certificate (RFC 7250, section 3).
fn parse(spki: &CertificateDer<'_>) -> Result<PublicKey, rustls::Error> {
    PublicKey::from_spki_der(spki).map_err(|_| CertificateError::BadEncoding.into())
}

/// The methods that rustls's two traits have in common.
macro_rules! verify_signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _spki: &CertificateDer<'_>,
            _signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Err(rustls::Error::General("TLS 1.2 is not offered".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            spki: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            self.verify(message, spki, signed)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        spki: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        parse(spki).map(|_| ServerCertVerified::assertion())
    }

    verify_signatures!();
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        spki: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        parse(spki).map(|_| ClientCertVerified::assertion())
    }

    verify_signatures!();
}
