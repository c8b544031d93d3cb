//! The messages between a host and the rendezvous, an extension of STUN (RFC 8489).
//!
//! Every message is a STUN message of one of two methods, so that it shares a port with STUN and
//! TURN: [`REGISTER`] publishes a key, [`INTRODUCE`] carries bodies between two hosts. Over a
//! stream, STUN's length field separates messages (RFC 8489, section 6.2.2).
//!
//! | message | class | attributes |
//! |---|---|---|
//! | [`Content::Hello`] | request | PADDING |
//! | [`Register`] | request | NONCE, PUBLIC-KEY, INSTANCE, LIFETIME, CHALLENGE, SIGNATURE |
//! | [`KeepAlive`] | request | TOKEN, LIFETIME, PADDING |
//! | [`Registered`] | success | XOR-MAPPED-ADDRESS, LIFETIME, NONCE, TOKEN, USERNAME, CREDENTIAL, SERVER-KEY, PROOF |
//! | [`Introduce`] | request | NONCE, PUBLIC-KEY, TARGET, INTRODUCTION, XOR-PEER-ADDRESS, BODY, SIGNATURE |
//! | [`Introduced`] | success | PUBLIC-KEY, INTRODUCTION, BODY, SIGNATURE |
//! | [`Refused`] | error | ERROR-CODE, NONCE, XOR-MAPPED-ADDRESS, LIFETIME |
//!
//! A request without NONCE and without TOKEN is a [`Content::Hello`]: the server answers it with
//! [`Refused`], code 401, and a nonce. Only a host that receives packets at its source address
//! learns the nonce.

mod attributes;
mod encode;
mod parse;
mod signature;
mod values;

use std::net::SocketAddr;

use windlass_identity::PublicKey;

pub use parse::ParseError;
pub use stun_types::message::{Method, TransactionId};
pub use values::{Nonce, TurnCredentials};

/// The method that publishes a key and keeps it published.
pub const REGISTER: Method = Method::new(0x7a1);
/// The method that carries bodies between two hosts.
pub const INTRODUCE: Method = Method::new(0x7a2);

/// The longest body in bytes. An [`Introduce`] with it has 1,136 bytes, which fit into the smallest
/// MTU of IPv6 with room for a tunnel.
pub(crate) const MAX_BODY_LEN: usize = 900;

/// The shortest request in bytes. PADDING fills shorter ones, so that no answer to an unverified
/// address is longer than its request: that would amplify a flood with forged sources.
const MIN_REQUEST_LEN: usize = 80;

/// Lifetime of TURN credentials in seconds from the [`Registered`] that holds them.
pub(crate) const CREDENTIAL_LIFETIME_S: u32 = 3600;

/// Distinguishes one run of a host's program from another with the same key.
pub type Instance = [u8; 16];
/// Proof of a registration. Only the registered host and the server know it.
pub type Token = [u8; 16];
/// Names an introduction. The asking host draws it at random.
pub type IntroductionId = [u8; 16];
/// A random text that the server signs, so that its proof is a new one.
pub(crate) type Challenge = [u8; 16];
/// An Ed25519 signature.
pub type Signature = [u8; 64];

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Joins a response to its request. The signature does not cover it, so that the server can
    /// forward a message under a transaction id of its own.
    pub transaction: TransactionId,
    /// The meaning of the message.
    pub content: Content,
}

/// The meaning of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A request without proof of address: asks for a nonce. The value is the method,
    /// [`REGISTER`] or [`INTRODUCE`].
    Hello(Method),
    /// Publishes a key.
    Register(Register),
    /// Keeps a key published, or ends its registration.
    KeepAlive(KeepAlive),
    /// The server's success response to [`Register`] and [`KeepAlive`].
    Registered(Registered),
    /// Carries a body to another host. The server forwards it.
    Introduce(Introduce),
    /// The other host's success response to [`Introduce`]. The server forwards it.
    Introduced(Introduced),
    /// An error response.
    Refused(Refused),
}

/// Publishes a key at the sender's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The key to publish.
    pub key: PublicKey,
    /// The sender's instance. While a key is registered, only the same instance can register it.
    pub instance: Instance,
    /// Requested lifetime in seconds. Zero publishes nothing and asks for TURN credentials only.
    pub lifetime_s: u32,
    /// The server's nonce for the sender's address.
    pub nonce: Nonce,
    /// Asks the server to prove its key. The signature does not cover it.
    pub challenge: Option<Challenge>,
    /// Made with `key`.
    pub signature: Signature,
}

/// Extends a registration, or ends it. Valid from the registered address only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// The token of the registration.
    pub token: Token,
    /// Requested lifetime in seconds. Zero ends the registration.
    pub lifetime_s: u32,
}

/// The server holds the registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The host's address as the server sees it.
    pub mapped: SocketAddr,
    /// Seconds until the registration ends unless it is extended.
    pub lifetime_s: u32,
    /// A fresh nonce, so that a later request needs no round trip for it.
    pub nonce: Option<Nonce>,
    /// For keep-alives. Absent in the response to a keep-alive, and where nothing was published.
    pub token: Option<Token>,
    /// Credentials for the relay. Absent in the response to a keep-alive, and where the server
    /// relays nothing.
    pub turn: Option<TurnCredentials>,
    /// The answer to a challenge. Older servers give none.
    pub proof: Option<Proof>,
}

/// Shows that the server has a key, and that it has made this response for this request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The server's key.
    pub key: PublicKey,
    /// Made with `key`, of everything else in the response but the nonce; see [`Registered::prove`].
    pub signature: Signature,
}

/// Carries a body to another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduce {
    /// The sender's key.
    pub key: PublicKey,
    /// The key of the host to reach. Absent in further bodies of an introduction.
    pub target: Option<PublicKey>,
    /// Names the introduction.
    pub introduction: IntroductionId,
    /// Opaque to the server, at most [`MAX_BODY_LEN`] bytes.
    pub body: Vec<u8>,
    /// The server's nonce for the sender's address. The signature covers it.
    pub nonce: Nonce,
    /// The sender's address as the server saw it. The server adds it, so no signature covers it.
    pub seen: Option<SocketAddr>,
    /// Made with `key`.
    pub signature: Signature,
}

/// Accepts an [`Introduce`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduced {
    /// The key of the host that answers.
    pub key: PublicKey,
    /// Names the introduction.
    pub introduction: IntroductionId,
    /// Opaque to the server, at most [`MAX_BODY_LEN`] bytes.
    pub body: Vec<u8>,
    /// Made with `key`.
    pub signature: Signature,
}

/// A request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The method of the request.
    pub method: Method,
    /// The code, one of the constants of this type or of RFC 8489.
    pub code: u16,
    /// With [`Refused::UNAUTHORIZED`]: a nonce for the sender's address.
    pub nonce: Option<Nonce>,
    /// With [`Refused::UNAUTHORIZED`]: the sender's address as the server sees it.
    pub mapped: Option<SocketAddr>,
    /// With [`Refused::CONFLICT`]: seconds until the other instance's registration ends unless it
    /// is extended.
    pub lifetime_s: Option<u32>,
}

impl Refused {
    /// The request is malformed.
    pub const BAD_REQUEST: u16 = 400;
    /// The nonce is absent or stale, or the token is unknown or used from another address.
    pub(crate) const UNAUTHORIZED: u16 = 401;
    /// The signature is wrong, or the other host accepts no introduction from this one.
    pub const FORBIDDEN: u16 = 403;
    /// No host has registered the target, or the introduction is unknown.
    pub const NOT_FOUND: u16 = 404;
    /// Another instance has registered the key.
    pub const CONFLICT: u16 = 409;
    /// The sender's address sends too many requests.
    pub(crate) const TOO_MANY: u16 = 429;
    /// A table of the server is full.
    pub const FULL: u16 = 508;

    /// An error with only a code.
    pub fn with_code(method: Method, code: u16) -> Self {
        Self { method, code, nonce: None, mapped: None, lifetime_s: None }
    }

    /// Asks for the request again with `nonce`.
    pub fn challenge(method: Method, nonce: Nonce, mapped: SocketAddr) -> Self {
        let nonce = Some(nonce);
        Self { nonce, mapped: Some(mapped), ..Self::with_code(method, Self::UNAUTHORIZED) }
    }
}

#[cfg(test)]
mod tests;
