//! What applications send, and when.

mod draw;
mod tcp;
mod udp;

pub(crate) use tcp::{TcpSource, Writer};
pub(crate) use udp::UdpSource;
