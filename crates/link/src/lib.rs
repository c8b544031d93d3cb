//! The link emulator: real packets between TUN devices, through the queues that the simulator has.
//!
//! The heart does no I/O. A [`Path`] is one direction of a link (queue, transmitter, wire); a
//! [`Network`] joins the paths of two or more ports. Time, packets and the seed are arguments, so
//! the same packets at the same times have the same fate every time.
//!
//! # How to drive a `Network`
//!
//! 1. [`Network::handle_packet`] takes what a port sent, with the time at which it was read.
//! 2. [`Network::poll_transmit`] gives what is due by now, until it gives `None`. Each packet
//!    comes with the time at which it should have left: how late it leaves is the carrier's error,
//!    and does not add up, for the network goes by the times that should have been.
//! 3. [`Network::poll_timeout`] says when to come back.
//!
//! Times never decrease from call to call.
//!
//! `linux` is the carrier: TUN devices, namespaces, and the loop around a `Network`.

pub mod config;
mod ecn;
mod frame;
mod lateness;
#[cfg(target_os = "linux")]
pub mod linux;
mod listed_loss;
mod loss;
mod network;
mod path;
mod routes;

pub use config::{ConfigError, LinkConfig, Loss, PathConfig, PortConfig};
pub use frame::Frame;
pub use lateness::Lateness;
pub use network::{Direction, Network, NetworkStats, Transmit};
pub use path::{Path, PathStats};

/// The seed of a link that names none.
pub const DEFAULT_SEED: u64 = 1;
