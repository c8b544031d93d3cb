//! Parses any bytes as each form of a key. Parsing must not panic, and a key that was accepted
//! must be written as it was read.

use windlass_identity::{PublicKey, SecretKey};

/// One input of the target `identity`.
pub(crate) fn run(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(key) = text.parse::<PublicKey>()
    {
        assert_eq!(key.to_string(), text.to_ascii_lowercase());
    }
    if let Ok(key) = PublicKey::from_spki_der(bytes) {
        assert_eq!(key.to_spki_der(), bytes);
    }
    if let Ok(key) = SecretKey::from_pkcs8_der(bytes) {
        assert_eq!(key.to_pkcs8_der().secret_pkcs8_der(), bytes);
    }
    if let Ok(key) = SecretKey::from_pem(bytes) {
        let again = SecretKey::from_pem(key.to_pem().as_bytes()).expect("a key just written");
        assert_eq!(again.public_key(), key.public_key());
    }
}
