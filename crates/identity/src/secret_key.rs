//! Secret keys: generation, signatures, PKCS#8.

use std::error::Error;
use std::fmt;

use data_encoding::BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use zeroize::Zeroizing;

use crate::{NotEd25519, PublicKey};

/// The DER bytes before the seed in a PKCS#8 key of Ed25519 (RFC 8410, section 7; version 1, as
/// OpenSSL writes it).
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// An Ed25519 secret key.
///
/// The seed is overwritten when the value is dropped. Copies that a signature needs for its
/// duration are not.
#[derive(Clone)]
pub struct SecretKey {
    seed: Zeroizing<[u8; SecretKey::SEED_LEN]>,
    public: PublicKey,
}

impl SecretKey {
    /// Length of a seed in bytes.
    const SEED_LEN: usize = 32;
    /// Length of a signature in bytes.
    const SIGNATURE_LEN: usize = 64;

    /// A new key from the system's randomness.
    ///
    /// # Errors
    ///
    /// [`NoRandomness`] if the system provides none.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut seed = Zeroizing::new([0; Self::SEED_LEN]);
        SystemRandom::new().fill(seed.as_mut_slice()).map_err(|_| NoRandomness)?;
        Ok(Self::from_zeroizing(seed))
    }

    /// The key of this seed (RFC 8032, section 5.1.5), for tests and simulations. Anyone who knows
    /// the seed has the key.
    pub fn from_seed(seed: [u8; Self::SEED_LEN]) -> Self {
        Self::from_zeroizing(Zeroizing::new(seed))
    }

    fn from_zeroizing(seed: Zeroizing<[u8; Self::SEED_LEN]>) -> Self {
        let public = public_bytes(&key_pair(&seed));
        // RFC 8032, section 5.1.5: the scalar is 2^254 or more and below 2^255, so not a multiple of
        // the base point's order.
        let public = PublicKey::from_bytes(public).expect("a multiple of the base point");
        Self { seed, public }
    }

    /// The public key of this key.
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// The signature of `message` (RFC 8032, section 5.1.6).
    pub fn sign(&self, message: &[u8]) -> [u8; Self::SIGNATURE_LEN] {
        let signature = key_pair(&self.seed).sign(message);
        let mut bytes = [0; Self::SIGNATURE_LEN];
        bytes.copy_from_slice(signature.as_ref());
        bytes
    }

    /// The key as PKCS#8 in DER (RFC 8410, section 7), as rustls and OpenSSL read it.
    pub fn to_pkcs8_der(&self) -> PrivatePkcs8KeyDer<'static> {
        [&PKCS8_PREFIX[..], &self.seed[..]].concat().into()
    }

    /// The key in a PKCS#8 value without public key, as OpenSSL writes it.
    ///
    /// # Errors
    ///
    /// [`NotEd25519`] if `der` is anything else.
    pub fn from_pkcs8_der(der: &[u8]) -> Result<Self, NotEd25519> {
        let seed = der.strip_prefix(&PKCS8_PREFIX).ok_or(NotEd25519)?;
        let seed: [u8; Self::SEED_LEN] = seed.try_into().map_err(|_| NotEd25519)?;
        Ok(Self::from_seed(seed))
    }

    /// The key as PKCS#8 in PEM (RFC 7468), the contents of a key file.
    pub fn to_pem(&self) -> Zeroizing<String> {
        // One line: RFC 7468 asks for lines of 64 characters, and 48 bytes fill exactly one.
        let base64 = Zeroizing::new(BASE64.encode(self.to_pkcs8_der().secret_pkcs8_der()));
        Zeroizing::new(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            base64.as_str()
        ))
    }

    /// The first key in a PEM text. Text around it is skipped.
    ///
    /// # Errors
    ///
    /// [`NotEd25519`] if there is no key, or the first one is not of Ed25519.
    pub fn from_pem(pem: &[u8]) -> Result<Self, NotEd25519> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| NotEd25519)?;
        Self::from_pkcs8_der(der.secret_pkcs8_der())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("public", &self.public).finish_non_exhaustive()
    }
}

/// A new one for each signature: ring's type cannot be cloned or wiped.
fn key_pair(seed: &[u8; SecretKey::SEED_LEN]) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed of 32 bytes is always a key")
}

fn public_bytes(pair: &Ed25519KeyPair) -> [u8; PublicKey::LEN] {
    let mut bytes = [0; PublicKey::LEN];
    bytes.copy_from_slice(pair.public_key().as_ref());
    bytes
}

/// The system provides no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRandomness;

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system provides no randomness for a new key")
    }
}

impl Error for NoRandomness {}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        HEXLOWER.decode(text.as_bytes()).expect("hex").try_into().expect("the right length")
    }

    #[test]
    fn signs_as_rfc_8032_says() {
        // RFC 8032, section 7.1, test 2.
        let secret = SecretKey::from_seed(hex(
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        ));
        let public = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
        assert_eq!(secret.public_key(), PublicKey::from_bytes(public).expect("a key"));
        let signature = concat!(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da",
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        );
        assert_eq!(secret.sign(&[0x72]), hex::<64>(signature));
    }

    #[test]
    fn pkcs8_is_the_one_of_rfc_8410() {
        // The example of RFC 8410, section 10.3, whose public key section 10.1 shows.
        let der = BASE64
            .decode(b"MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC")
            .expect("base64");
        let spki = BASE64
            .decode(b"MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=")
            .expect("base64");
        let secret = SecretKey::from_pkcs8_der(&der).expect("a key");
        assert_eq!(secret.to_pkcs8_der().secret_pkcs8_der(), &der[..]);
        assert_eq!(secret.public_key().to_spki_der()[..], spki[..]);
        assert!(SecretKey::from_pkcs8_der(&der[..47]).is_err());
        assert!(SecretKey::from_pkcs8_der(&[&der[..], &[0]].concat()).is_err());
    }

    #[test]
    fn text_around_a_key_in_pem_is_skipped() {
        let key = SecretKey::from_seed([3; 32]);
        let pem = format!("The key of host a\n{}end\n", key.to_pem().as_str());
        let read = SecretKey::from_pem(pem.as_bytes()).expect("a key");
        assert_eq!(read.public_key(), key.public_key());
        assert!(SecretKey::from_pem(b"").is_err());
    }

    #[test]
    fn generated_keys_differ() {
        let keys = [(); 2].map(|()| SecretKey::generate().expect("randomness").public_key());
        assert_ne!(keys[0], keys[1]);
    }

    #[test]
    fn debug_shows_no_secret() {
        let text = format!("{:?}", SecretKey::from_seed([0xab; 32]));
        assert!(text.starts_with("SecretKey { public: "), "{text}");
        assert!(!text.contains("171") && !text.contains("abab"), "{text}");
    }
}
