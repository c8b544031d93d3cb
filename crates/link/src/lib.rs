//! The link emulator: real packets between TUN devices, through the simulator's queues.
//!
//! The core does no I/O. A path is one direction of a link (queue, transmitter, wire): a [`PathConfig`]
//! has its settings, [`PathStats`] its counts. A [`Network`] joins the paths of two or more ports. Time, packets and the seed are arguments, so
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
//!
//! # Example
//!
//! A path of 8 Mbit/s and 10 ms carries a packet of 1000 bytes: 1 ms to transmit it, 10 ms on the wire.
//!
//! ```
//! use windlass_base::{BitRate, Span, Time};
//! use windlass_link::{LinkConfig, Network, PathConfig, PortConfig};
//!
//! let port = |name: &str, up| PortConfig { name: name.to_owned(), up, ..PortConfig::default() };
//! let towards_b = PathConfig {
//!     rate: BitRate::from_bits_per_sec(8_000_000),
//!     delay: Span::from_millis(10),
//!     ..PathConfig::default()
//! };
//! let ports = vec![port("a", towards_b), port("b", PathConfig::default())];
//! let mut network = Network::new(&LinkConfig { seed: 7, ports })?;
//!
//! network.handle_packet(Time::ZERO, 0, vec![0; 1000]);
//! let due = network.poll_timeout().expect("the packet is being transmitted");
//! assert!(network.poll_transmit(due).is_none(), "it has left the queue, and is on the wire");
//!
//! let due = network.poll_timeout().expect("the packet is on the wire");
//! let packet = network.poll_transmit(due).expect("the packet is due");
//! assert_eq!((packet.port, packet.due), (1, Time::ZERO + Span::from_millis(11)));
//! # Ok::<(), windlass_link::ConfigError>(())
//! ```

pub mod config;
mod ecn;
mod frame;
#[cfg(target_os = "linux")]
pub mod linux;
mod listed_loss;
mod loss;
mod network;
mod path;
mod routes;

pub use config::{ConfigError, LinkConfig, Loss, PathConfig, PortConfig};
pub use frame::Frame;
pub use network::{Direction, Network, NetworkStats, Transmit};
pub use path::PathStats;
pub use windlass_link_model::{self as link_model, Variation};

/// The default seed of a link's random streams.
pub const DEFAULT_SEED: u64 = 1;
