//! The split-ACK probe: how a server's slow start reacts to ACKs that each acknowledge a part of a
//! segment (R. E. G. Normann, *A Client-side Split ACK Tool for TCP Slow Start Investigation*, 2011),
//! and what its initial window is.
//!
//! Nothing here does I/O but [`linux`]: a [`Probe`] is one connection, a [`Session`] all connections
//! to one server, one after the other, and [`classify`] says what they show. A driver gives them
//! packets and the time; it can have thousands of sessions under way.
//!
//! # Example
//!
//! Two segments are acknowledged in eight ACKs. A server that counts ACKs sends ten packets, a server that
//! counts bytes sends four.
//!
//! ```
//! use windlass_probe::model::Model;
//! use windlass_probe::{Flight, Observation, Test};
//!
//! let flight = Flight { packets: 10, bytes: 14_600, ..Flight::default() };
//! let seen = Observation {
//!     test: Test::Split(4),
//!     window: 65_535,
//!     mss_seen: 1460,
//!     mss_offered: 1460,
//!     first_flight: flight,
//!     missing_after_flight: 0,
//!     flight,
//!     acked: vec![1460, 1460],
//!     acks_sent: 8,
//!     packets_before: 10,
//!     grown: 10,
//!     grown_bytes: 14_600,
//!     data_packets: 20,
//!     data_bytes: 29_200,
//!     retransmissions: 0,
//!     reordered: 0,
//!     duplicated: 0,
//!     beyond_window: 0,
//!     damaged: 0,
//!     timeout_before_acks: false,
//!     fills_window: false,
//!     answer_ended: false,
//!     exchanged: None,
//! };
//! assert!(Model::PerAck.fits(&seen));
//! assert_eq!(Model::PerByteUnlimited.new_packets(&seen), 4..=4);
//! ```

mod application;
mod arrivals;
pub mod burst;
pub mod cca;
pub mod classify;
pub mod dialogue;
pub mod ecn;
mod gate;
pub mod http;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod model;
mod probe;
pub mod serve;
pub mod session;
pub mod survey;
pub mod target;
mod test;
pub mod tls;
pub mod wire;

pub use probe::{
    BurstOrder, BurstRun, Ending, Exchanged, Flight, Heard, Observation, Order, Probe, Purpose,
    Report, SynAck,
};
pub use session::{Session, Settings, Step};
pub use target::Target;
pub use test::{PARTS_MAX, PARTS_POLITE, Test};
