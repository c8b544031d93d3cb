//! The link emulator: real packets between TUN devices, through the simulator's queues.
//!
//! The core does no I/O. A [`Path`] is one direction of a link (queue, transmitter, wire); a
//! [`Network`] joins the paths of two or more ports. Time, packets and the seed are arguments, so
//! the same packets at the same times give the same result every time.
//!
//! # How to drive a `Network`
//!
//! 1. [`Network::handle_packet`] takes a packet from a port, with the time at which it was read.
//! 2. [`Network::poll_transmit`] returns the next packet that is due by now, or `None`. Each packet
//!    comes with the time at which it should have left. A late departure is the carrier's error; it
//!    does not accumulate, because the network computes with the due times.
//! 3. [`Network::poll_timeout`] returns the time of the next call.
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

/// The default seed of a link's random streams.
pub const DEFAULT_SEED: u64 = 1;
