//! The record layer of TLS 1.3 (RFC 8446, section 5) after the handshake.
//!
//! rustls makes the handshake and derives the keys. Its own record layer allocates each record and
//! copies it twice, which would cost more CPU time than the encryption, and one lock would
//! serialize reading and writing. Here records are sealed where they are written from, and opened
//! where they arrived, and each direction stands alone.

use super::Error;
use ring::aead::{self, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;

/// Bytes of a record's header.
pub(super) const HEADER_LEN: usize = 5;
/// The most payload of a record.
pub(super) const PAYLOAD_MAX: usize = 1 << 14;
/// Bytes that a record adds to its payload: header, inner content type, authentication tag.
pub(super) const OVERHEAD: usize = HEADER_LEN + 1 + TAG_LEN;
/// Bytes of a record with the most payload.
pub(super) const RECORD_MAX: usize = PAYLOAD_MAX + OVERHEAD;
/// All suites of TLS 1.3 here have tags of this length.
const TAG_LEN: usize = 16;
/// The most that a record may contain after its header, padding included (section 5.2).
const BODY_MAX: usize = PAYLOAD_MAX + 256;
/// The version that every header of TLS 1.3 shows, for old middleboxes.
const LEGACY_VERSION: [u8; 2] = [3, 3];

/// Content types (section 5.1).
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// The type and the length of the record at the start of `bytes`, header included. `None` if its
/// header is incomplete.
pub(super) fn parse_header(bytes: &[u8]) -> Result<Option<(u8, usize)>, Error> {
    let Some((&[kind, major, _, high, low], _)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Ok(None);
    };
    if !(CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&kind) || major != LEGACY_VERSION[0] {
        return Err(Error::NotTls);
    }
    let body = usize::from(u16::from_be_bytes([high, low]));
    if body > BODY_MAX {
        return Err(Error::Oversized);
    }
    Ok(Some((kind, HEADER_LEN + body)))
}

/// The key of one direction. The sequence number makes each nonce unique (section 5.3).
struct Key {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    seq: u64,
}

impl Key {
    fn new((seq, secrets): (u64, ConnectionTrafficSecrets)) -> Result<Key, Error> {
        let (algorithm, key, iv) = match &secrets {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (&aead::AES_128_GCM, key, iv),
            ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (&aead::AES_256_GCM, key, iv),
            ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
                (&aead::CHACHA20_POLY1305, key, iv)
            }
            _ => return Err(Error::Protocol("an unknown cipher suite".into())),
        };
        let unusable = |_| Error::Protocol("keys of a wrong length".into());
        let key = UnboundKey::new(algorithm, key.as_ref()).map_err(unusable)?;
        let iv = iv.as_ref().try_into().map_err(|_| Error::Protocol("a wrong IV".into()))?;
        Ok(Key { key: LessSafeKey::new(key), iv, seq })
    }

    /// The nonce of the next record. The counter would wrap after 2^64 records, and the key is
    /// replaced long before.
    fn next_nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        // RFC 8446, section 5.3: the sequence number, padded on the left, XOR the IV.
        for (byte, seq) in nonce[NONCE_LEN - 8..].iter_mut().zip(self.seq.to_be_bytes()) {
            *byte ^= seq;
        }
        self.seq += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Encrypts the records of one direction.
pub(super) struct Sealer(Key);

impl Sealer {
    /// A sealer with this sequence number and these keys.
    pub(super) fn new(secrets: (u64, ConnectionTrafficSecrets)) -> Result<Sealer, Error> {
        Key::new(secrets).map(Sealer)
    }

    /// Records sealed with this key.
    pub(super) fn records(&self) -> u64 {
        self.0.seq
    }

    /// Appends a record to `out`. `payload` has at most [`PAYLOAD_MAX`] bytes.
    pub(super) fn seal(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&header_of(payload));
        // RFC 8446, section 5.2: TLSInnerPlaintext is the content and its real type.
        out.extend_from_slice(payload);
        out.push(kind);
        out.extend_from_slice(&[0; TAG_LEN]);
        self.encrypt(&mut out[start..]);
    }

    /// As [`Sealer::seal`], into a `record` of as many bytes as it has.
    pub(super) fn seal_into(&mut self, kind: u8, payload: &[u8], record: &mut [u8]) {
        let (header, body) = record.split_at_mut(HEADER_LEN);
        header.copy_from_slice(&header_of(payload));
        body[..payload.len()].copy_from_slice(payload);
        body[payload.len()] = kind;
        self.encrypt(record);
    }

    /// Encrypts a record in place and writes its tag.
    fn encrypt(&mut self, record: &mut [u8]) {
        let nonce = self.0.next_nonce();
        let (header, body) = record.split_at_mut(HEADER_LEN);
        let (inner, tag) = body.split_at_mut(body.len() - TAG_LEN);
        let made = self
            .0
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(header), inner)
            .expect("a record is shorter than the limit of each cipher");
        tag.copy_from_slice(made.as_ref());
    }
}

/// The header of the record that `payload` will be in.
fn header_of(payload: &[u8]) -> [u8; HEADER_LEN] {
    assert!(payload.len() <= PAYLOAD_MAX);
    let [high, low] = ((payload.len() + 1 + TAG_LEN) as u16).to_be_bytes();
    [APPLICATION_DATA, LEGACY_VERSION[0], LEGACY_VERSION[1], high, low]
}

/// The contents of a decrypted record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// The content type.
    pub(super) kind: u8,
    /// Bytes of content.
    pub(super) len: usize,
}

/// Decrypts the records of one direction.
pub(super) struct Opener(Key);

impl Opener {
    /// An opener with this sequence number and these keys.
    pub(super) fn new(secrets: (u64, ConnectionTrafficSecrets)) -> Result<Opener, Error> {
        Key::new(secrets).map(Opener)
    }

    /// Decrypts the complete record at the end of `bytes`, from `start` on, and moves its content to
    /// the start of `bytes`. The bytes between are overwritten.
    ///
    /// # Errors
    /// [`Error::Forged`], [`Error::Oversized`] or [`Error::Protocol`]. Then no further record can be
    /// opened.
    pub(super) fn open(&mut self, bytes: &mut [u8], start: usize) -> Result<Opened, Error> {
        let protocol = |what: &str| Error::Protocol(what.into());
        let header = bytes.get(start..).and_then(|record| record.first_chunk::<HEADER_LEN>());
        let Some(&header) = header else {
            return Err(protocol("an incomplete record"));
        };
        // After the handshake every record is encrypted, and so shows this type (section 5.2).
        if header[0] != APPLICATION_DATA {
            return Err(protocol("a record without encryption"));
        }
        let nonce = self.0.next_nonce();
        let body = start + HEADER_LEN;
        let opened = self.0.key.open_within(nonce, Aad::from(header), bytes, body..);
        let inner = opened.map_err(|_| Error::Forged)?;
        // Padding is zeros after the content type (section 5.4).
        let last = inner.iter().rposition(|byte| *byte != 0);
        let len = last.ok_or_else(|| protocol("a record without a type"))?;
        if len > PAYLOAD_MAX {
            return Err(Error::Oversized);
        }
        Ok(Opened { kind: inner[len], len })
    }
}
