//! The split-ACK probe: how a server's slow start reacts to ACKs that each acknowledge a part of a
//! segment (R. E. G. Normann, *A Client-side Split ACK Tool for TCP Slow Start Investigation*, 2011),
//! and what its initial window is.
//!
//! Nothing here does I/O but [`linux`]: a [`Probe`] is one connection, a [`Session`] all connections
//! to one server, one after the other. The verdict of its topic ([`split`], [`burst`], [`cca`] or [`ecn`])
//! says what they show. A [`survey`] schedules the sessions of many servers.
//!
//! A driver follows [`Session::step`] until it is [`Step::Done`], and passes each result back
//! ([`Session::handle_addresses`], [`Session::handle_report`]). For [`Step::Connect`] it makes a [`Probe`],
//! and gives it packets and the time until [`Probe::report`] has a report. A driver can have thousands of
//! sessions under way.
//!
//! # Example
//!
//! Two segments are acknowledged in eight ACKs. A server that counts ACKs sends ten packets, a server that
//! counts bytes sends four.
//!
//! ```
//! use windlass_probe::Test;
//!
//! let acks = Test::Split(4).acks(&[1460, 2920]);
//! assert_eq!(acks, [365, 730, 1095, 1460, 1825, 2190, 2555, 2920]);
//! ```

pub mod dialogue;
mod host;
pub mod http;
#[cfg(target_os = "linux")]
pub mod linux;
mod name;
mod probe;
pub mod session;
pub mod survey;
mod target;
pub mod tls;
mod topic;
pub mod wire;

pub use probe::Probe;
pub use session::{Session, Settings, Step};
pub use target::Target;
pub use topic::split::{PARTS_MAX, PARTS_POLITE, Test};
pub use topic::{
    Body, Ending, Heard, Order, Purpose, ReadOrder, Report, SynAck, burst, cca, ecn, split,
};
