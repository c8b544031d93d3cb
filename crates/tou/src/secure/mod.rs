//! Encrypted and authenticated streams: TLS 1.3 with raw public keys (RFC 8446, RFC 7250). Requires
//! the feature `secure`.
//!
//! Both ends are known by their Ed25519 keys; there are no certificates and no names. A client
//! expects one key of its server, a server allows some keys of clients. From SYN to the client's
//! first data the handshake takes two round trips, one more than without encryption.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::Shutdown;
//! use std::thread;
//! use windlass_tou::secure::{Allow, Identity, SecretKey, SecureStream};
//! use windlass_tou::{TouListener, TouStream};
//!
//! let (server_key, client_key) = (SecretKey::generate()?, SecretKey::generate()?);
//! let listener = TouListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//!
//! let own = Identity::new(&server_key);
//! let allow = Allow::keys([client_key.public_key()]);
//! let server = thread::spawn(move || -> std::io::Result<()> {
//!     let mut stream = SecureStream::accept(listener.accept()?.0, &own, &allow)?;
//!     let mut request = Vec::new();
//!     stream.read_to_end(&mut request)?;
//!     stream.write_all(&request)?;
//!     stream.finish(None)
//! });
//!
//! let stream = TouStream::connect(address)?;
//! let own = Identity::new(&client_key);
//! let mut client = SecureStream::connect(stream, &own, server_key.public_key())?;
//! client.write_all(b"hello")?;
//! client.shutdown(Shutdown::Write)?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello");
//! server.join().expect("the server does not panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Refusals
//!
//! A client whose key the server does not allow gets [`Error::Refused`]. In TLS 1.3 the client's
//! handshake is over before the server has judged its key, so a refusal reaches the client with its
//! first read, or with a write after the refusal has arrived.
//!
//! # Without I/O
//!
//! [`Handshake`], [`Sender`] and [`Receiver`] do no I/O: bytes in, bytes out. [`SecureStream`] joins
//! them to a [`TouStream`](crate::TouStream).

mod channel;
mod error;
mod handshake;
mod identity;
mod keys;
mod maybe;
mod output;
mod record;
mod shared;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "tokio")]
pub mod tokio;
mod verifier;

pub use channel::{Receiver, Sender};
pub use error::Error;
pub use handshake::Handshake;
pub use identity::{Allow, Identity};
pub use maybe::MaybeSecureStream;
pub use stream::SecureStream;

pub use windlass_identity::{PublicKey, SecretKey};

/// The protocol that both ends name in the handshake (RFC 7301), so that a key of ToU is of no use
/// in another protocol.
pub const ALPN: &[u8] = b"windlass-tou/1";
