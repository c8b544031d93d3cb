//! The common part of QUIC transports on simulated hosts. A transport implements [`Session`], one end of a connection;
//! [`QuicEndpoint`] puts the application of a flow on it and makes an
//! [`Endpoint`](windlass_sim::endpoint::Endpoint) of the simulator.

mod app;
mod endpoint;
mod session;
pub mod tls;

pub use endpoint::QuicEndpoint;
pub use session::{Direction, Event, Read, Session, StreamId};
