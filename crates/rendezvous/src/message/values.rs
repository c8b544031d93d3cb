//! Values of attributes that have rules of their own.

use std::fmt;

/// A server's proof that a request comes from the address that it was sent to. Opaque to hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nonce(String);

impl Nonce {
    /// The greatest length in bytes. RFC 8489, section 14.10, allows 763; a challenge must stay
    /// shorter than its request.
    pub const MAX_LEN: usize = 64;

    /// The nonce with this text; `None` if that is empty, too long, or has other characters than
    /// printable ASCII.
    pub fn new(text: &str) -> Option<Self> {
        let printable = |b: u8| b == b' ' || b.is_ascii_graphic();
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        (fits && text.bytes().all(printable)).then(|| Self(text.into()))
    }

    /// The text of the nonce.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// User name and password for the relay (RFC 8656).
#[derive(Clone, PartialEq, Eq)]
pub struct TurnCredentials {
    /// The user name, at most [`TurnCredentials::MAX_LEN`] bytes.
    pub username: String,
    /// The password, at most [`TurnCredentials::MAX_LEN`] bytes.
    pub password: String,
}

impl TurnCredentials {
    /// The greatest length of each text in bytes.
    pub const MAX_LEN: usize = 128;
}

impl fmt::Debug for TurnCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The password stays out of logs.
        f.debug_struct("TurnCredentials").field("username", &self.username).finish_non_exhaustive()
    }
}
