//! Introductions between hosts behind NATs.
//!
//! Two hosts behind NATs cannot open a connection to each other before each knows the other's
//! addresses. Both can reach a third host, the rendezvous. A host *registers* its public key
//! there. Another host asks the rendezvous to *introduce* it: the rendezvous forwards an offer to
//! the registered host, and that host's answer back. Offers and answers are opaque here.
//!
//! - [`behavior`]: what NATs are before a host (RFC 5780), without I/O.
//! - [`message`]: the messages, an extension of STUN (RFC 8489), and their signatures.
//! - [`client`]: a host's side of the exchange, without I/O.
//! - [`server`]: the rendezvous itself, with a relay (TURN, RFC 8656), without I/O.
//! - `daemon`, with the feature of this name: the server with its sockets.

pub mod behavior;
pub mod client;
#[cfg(feature = "daemon")]
pub mod daemon;
mod interfaces;
pub mod message;
pub mod server;

pub use interfaces::own_addresses;

/// The examples of the README as doc tests.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
