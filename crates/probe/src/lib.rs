//! The split-ACK probe: how a server's slow start reacts to ACKs that each acknowledge a part of a
//! segment (R. E. G. Normann, *A Client-side Split ACK Tool for TCP Slow Start Investigation*, 2011),
//! and what its initial window is.
//!
//! Nothing here does I/O but [`linux`]: a [`Probe`] is one connection, a [`Session`] all connections
//! to one server, one after the other, and [`classify`] says what they show. A driver gives them
//! packets and the time; it can have thousands of sessions under way.

mod application;
mod arrivals;
pub mod classify;
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

pub use probe::{Ending, Flight, Observation, Order, Probe, Purpose, Report, SynAck};
pub use session::{Session, Settings, Step};
pub use target::Target;
pub use test::{PARTS_MAX, PARTS_POLITE, Test};
