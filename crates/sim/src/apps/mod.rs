//! The applications on hosts: times and amounts of the data that they send. The host of a connection and
//! the event loop call them.

mod draw;
mod tcp;
mod udp;

pub(crate) use tcp::{Action, TcpSource, Writer};
pub(crate) use udp::UdpSource;
