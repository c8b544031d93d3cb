//! Sessions between hosts behind NATs: a path is found by ICE (RFC 8445), with relays (TURN, RFC
//! 8656) where no direct one exists, and carries any number of ToU connections over one UDP port
//! pair. Hosts are known by their keys; a rendezvous introduces them to each other.
//!
//! [`Node`] is a UDP port with its sessions. [`Host`] is the same without I/O, for simulations.
//!
//! ```no_run
//! use std::time::Duration;
//! use windlass_identity::SecretKey;
//! use windlass_tou::session::{Allow, Node, NodeOptions};
//!
//! let mut options = NodeOptions::new(SecretKey::generate()?);
//! options.rendezvous = vec!["rendezvous.example.org".parse()?];
//! let node = Node::bind(options)?;
//!
//! let peer = "mfzwizltoq2dsnzxhe4dkmrtgqzdgmzwgu2dknzygm3tgnbrgy3q".parse()?;
//! let session = node.connect(peer, Some(Duration::from_secs(30)))?;
//! let mut stream = session.open()?;
//! # use std::io::Write;
//! stream.write_all(b"hello")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Connections are not encrypted by themselves: see the module `secure`.

mod addresses;
mod answering;
mod host;
mod ice;
mod node;
mod offer;
mod one_session;
mod relay;
mod rendezvous;
mod server;
mod stream;
mod wake;

pub use host::{
    Allow, CloseReason, Event, Host, HostConfig, Outgoing, Randomness, Route, SessionInfo,
};
pub use node::{Node, NodeOptions, Session};
pub use offer::CandidateType;
pub use one_session::SessionState;
pub use rendezvous::{ParseRendezvousError, RendezvousAddress};
pub use server::Channel;
