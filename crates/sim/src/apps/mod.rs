//! Traffic of applications: amounts, message sizes and times.

mod draw;
mod tcp;
mod udp;

pub(crate) use tcp::{TcpSource, Writer};
pub(crate) use udp::UdpSource;
