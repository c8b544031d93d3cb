//! Public keys: text form, DER form, and verification.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE32_NOPAD, BASE32_NOPAD_NOCASE, DecodeKind};
use ring::signature::{ED25519, UnparsedPublicKey};

/// The DER bytes before the key in a SubjectPublicKeyInfo of Ed25519 (RFC 8410, section 4).
const SPKI_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// An Ed25519 public key: the name of a host.
///
/// Its text form is RFC 4648 base32 in lower case without padding, 52 characters. Parsing takes
/// upper case too. Keys for which anyone can forge signatures are refused. Other bytes are not checked
/// to be a point of the curve: bytes that are no point verify no signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; PublicKey::LEN]);

impl PublicKey {
    /// Length of a key in bytes.
    pub const LEN: usize = 32;
    /// Length of the text form in characters.
    pub const TEXT_LEN: usize = 52;
    /// Length of the SubjectPublicKeyInfo in bytes.
    const SPKI_LEN: usize = SPKI_PREFIX.len() + Self::LEN;

    /// The key with these bytes (RFC 8032, section 5.1.2). `None` if they do not identify exactly one
    /// host. Either the point is of small order, so that one signature is valid for every message and
    /// anyone can make it; or the point has another encoding too.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Option<Self> {
        (!is_weak(&bytes)).then_some(Self(bytes))
    }

    /// The bytes of the key (RFC 8032, section 5.1.2).
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Checks that the owner of this key signed `message`. As strict as RFC 8032, section 5.1.7,
    /// allows: neither the key nor the signature's point may be of small order, which would sign
    /// any message.
    ///
    /// # Errors
    ///
    /// [`BadSignature`] if the signature has another length, or does not match the message and the key.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), BadSignature> {
        let point = signature.first_chunk().ok_or(BadSignature)?;
        if is_weak(&self.0) || is_weak(point) {
            return Err(BadSignature);
        }
        UnparsedPublicKey::new(&ED25519, &self.0)
            .verify(message, signature)
            .map_err(|_| BadSignature)
    }

    /// The key as SubjectPublicKeyInfo in DER (RFC 8410, section 4), as TLS sends raw public keys
    /// (RFC 7250).
    pub fn to_spki_der(&self) -> [u8; Self::SPKI_LEN] {
        let mut der = [0; Self::SPKI_LEN];
        let (prefix, key) = der.split_at_mut(SPKI_PREFIX.len());
        prefix.copy_from_slice(&SPKI_PREFIX);
        key.copy_from_slice(&self.0);
        der
    }

    /// The key in a SubjectPublicKeyInfo. DER has one encoding only, so any other bytes are refused.
    ///
    /// # Errors
    ///
    /// [`NotEd25519`] if `der` is anything but the SubjectPublicKeyInfo of an Ed25519 key, or if the
    /// key is weak.
    pub fn from_spki_der(der: &[u8]) -> Result<Self, NotEd25519> {
        let key = der.strip_prefix(&SPKI_PREFIX).ok_or(NotEd25519)?;
        let key = key.try_into().map_err(|_| NotEd25519)?;
        Self::from_bytes(key).ok_or(NotEd25519)
    }
}

/// The y coordinates of the points of small order, little-endian: of order 4, 1 and 2, and of the
/// four points of order 8. The sign of x makes eight points of them.
const SMALL_ORDER: [[u8; 32]; 5] = [
    [0; 32],
    ends(1, 0, 0),
    ends(0xec, 0xff, 0x7f),
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
];

/// The bytes `first`, 30 times `middle`, `last`.
const fn ends(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut bytes = [middle; 32];
    (bytes[0], bytes[31]) = (first, last);
    bytes
}

/// Whether bytes encode a point of small order, or a y coordinate of 2^255 - 19 or more, which
/// RFC 8032, section 5.1.3, refuses: such a point has another encoding, and so another name.
fn is_weak(bytes: &[u8; 32]) -> bool {
    let mut y = *bytes;
    // The sign of x.
    y[31] &= 0x7f;
    let is_unreduced = y[0] >= 0xed && y[1..31] == [0xff; 30] && y[31] == 0x7f;
    is_unreduced || SMALL_ORDER.contains(&y)
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&BASE32_NOPAD.encode(&self.0).to_ascii_lowercase())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        // Before the length: the character is the better hint if both are wrong.
        if let Some(found) = text.chars().find(|&c| !matches!(c, 'a'..='z' | 'A'..='Z' | '2'..='7'))
        {
            return Err(ParseKeyError::Character(found));
        }
        if text.len() != Self::TEXT_LEN {
            return Err(ParseKeyError::Length(text.len()));
        }
        let mut key = [0; Self::LEN];
        match BASE32_NOPAD_NOCASE.decode_mut(text.as_bytes(), &mut key) {
            Ok(_) => Self::from_bytes(key).ok_or(ParseKeyError::Weak),
            Err(partial) if partial.error.kind == DecodeKind::Trailing => {
                Err(ParseKeyError::LastCharacter)
            }
            // The checks above leave no other fault.
            Err(_) => Err(ParseKeyError::Length(text.len())),
        }
    }
}

/// A text is not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseKeyError {
    /// The text has this number of characters instead of 52.
    Length(usize),
    /// The text contains this character, which is not of the base32 alphabet.
    Character(char),
    /// The last character has bits that no key of 32 bytes has.
    LastCharacter,
    /// The key is weak: see [`PublicKey::from_bytes`].
    Weak,
}

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(found) => write!(f, "a public key has 52 characters, this has {found}"),
            Self::Character(found) => {
                write!(f, "a public key has the characters a-z and 2-7 only, not {found:?}")
            }
            Self::LastCharacter => {
                f.write_str("a public key ends in 'a' or 'q'; this one is mistyped")
            }
            Self::Weak => f.write_str(
                "not a host's public key: anyone can sign with it, or it has a second text",
            ),
        }
    }
}

impl Error for ParseKeyError {}

/// The signature does not match the key and message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSignature;

impl fmt::Display for BadSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signature is not of this key and message")
    }
}

impl Error for BadSignature {}

/// A DER value is not an Ed25519 key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEd25519;

impl fmt::Display for NotEd25519 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an Ed25519 key in the form of RFC 8410")
    }
}

impl Error for NotEd25519 {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SecretKey;

    fn key() -> PublicKey {
        SecretKey::from_seed([7; 32]).public_key()
    }

    #[test]
    fn text_of_known_bytes() {
        // Computed with Python: base64.b32encode(bytes(range(32))).
        let key = PublicKey::from_bytes(std::array::from_fn(|i| i as u8)).expect("a key");
        let text = "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq";
        assert_eq!(key.to_string(), text);
        assert_eq!(text.parse(), Ok(key));
        assert_eq!(text.to_uppercase().parse(), Ok(key));
    }

    #[test]
    fn errors_name_the_fault() {
        let text = key().to_string();
        let error = |text: &str| text.parse::<PublicKey>().expect_err("wrong text");
        assert_eq!(error(""), ParseKeyError::Length(0));
        assert_eq!(error(&text[1..]), ParseKeyError::Length(51));
        assert_eq!(error(&format!("{text}a")), ParseKeyError::Length(53));
        assert_eq!(error(&text.replacen(&text[..1], "1", 1)), ParseKeyError::Character('1'));
        assert_eq!(error("ssh-ed25519"), ParseKeyError::Character('-'));
        assert_eq!(error(&format!("{}é", &text[..50])), ParseKeyError::Character('é'));
        assert_eq!(error(&format!("{}b", &text[..51])), ParseKeyError::LastCharacter);
        assert!(error("abc").to_string().contains("52 characters, this has 3"));
    }

    #[test]
    fn spki_is_the_one_of_rfc_8410() {
        // The example of RFC 8410, section 10.1.
        let der = data_encoding::BASE64
            .decode(b"MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=")
            .expect("base64");
        let key = PublicKey::from_spki_der(&der).expect("a key");
        assert_eq!(key.to_spki_der()[..], der[..]);
        assert_eq!(PublicKey::from_spki_der(&der[..43]), Err(NotEd25519));
        assert_eq!(PublicKey::from_spki_der(&[&der[..], &[0]].concat()), Err(NotEd25519));
    }

    #[test]
    fn a_changed_message_signature_or_key_is_refused() {
        let secret = SecretKey::from_seed([7; 32]);
        let signature = secret.sign(b"message");
        assert_eq!(key().verify(b"message", &signature), Ok(()));
        assert_eq!(key().verify(b"massage", &signature), Err(BadSignature));
        assert_eq!(key().verify(b"message", &signature[..63]), Err(BadSignature));
        let other = SecretKey::from_seed([8; 32]).public_key();
        assert_eq!(other.verify(b"message", &signature), Err(BadSignature));
    }

    /// All encodings of points of small order that decoders in use accept, with y up to 2^255 - 1:
    /// the table of Chalkias, Garillot and Nikolaenko, "Taming the many EdDSAs", 2020, table 1.
    fn small_order() -> Vec<[u8; 32]> {
        let unreduced = [ends(0xed, 0xff, 0x7f), ends(0xee, 0xff, 0x7f)];
        let y = SMALL_ORDER.into_iter().chain(unreduced);
        y.flat_map(|y| [0, 0x80].map(|sign| [&y[..31], &[y[31] | sign]].concat()))
            .map(|bytes| bytes.try_into().expect("32 bytes"))
            .collect()
    }

    #[test]
    fn a_key_of_small_order_is_refused_in_every_form() {
        assert_eq!(small_order().len(), 14);
        for bytes in small_order() {
            assert_eq!(PublicKey::from_bytes(bytes), None, "{bytes:02x?}");
            let text = PublicKey(bytes).to_string();
            assert_eq!(text.parse::<PublicKey>(), Err(ParseKeyError::Weak), "{text}");
            assert_eq!(PublicKey::from_spki_der(&PublicKey(bytes).to_spki_der()), Err(NotEd25519));
        }
        // The neutral element and S = 0: without the check it signs every message.
        let forged = [&ends(1, 0, 0)[..], &[0; 32]].concat();
        let ring = |key: &[u8]| UnparsedPublicKey::new(&ED25519, key).verify(b"any", &forged);
        assert_eq!(ring(&ends(1, 0, 0)), Ok(()), "ring accepts it");
        assert_eq!(PublicKey(ends(1, 0, 0)).verify(b"any", &forged), Err(BadSignature));
        assert_eq!(key().verify(b"any", &forged), Err(BadSignature));
    }

    #[test]
    fn a_second_encoding_of_a_point_is_refused() {
        // RFC 8032, section 5.1.3, step 1: y = p + 3 stands for y = 3.
        assert_eq!(PublicKey::from_bytes(ends(0xf0, 0xff, 0x7f)), None);
        assert!(PublicKey::from_bytes(ends(3, 0, 0)).is_some());
        assert!(PublicKey::from_bytes(ends(0xeb, 0xff, 0x7f)).is_some());
    }

    proptest! {
        #[test]
        fn text_and_der_give_back_the_key(bytes: [u8; 32]) {
            prop_assume!(!is_weak(&bytes));
            let key = PublicKey::from_bytes(bytes).expect("a key");
            prop_assert_eq!(key.to_string().len(), PublicKey::TEXT_LEN);
            prop_assert_eq!(key.to_string().parse(), Ok(key));
            prop_assert_eq!(PublicKey::from_spki_der(&key.to_spki_der()), Ok(key));
        }

        #[test]
        fn each_key_has_one_text_except_for_case(text in "[a-z2-7]{52}") {
            if let Ok(key) = text.parse::<PublicKey>() {
                prop_assert_eq!(key.to_string(), text);
            }
        }
    }
}
