//! The applications on hosts: times and amounts of the data that they send. The host of a connection and
//! the event loop call them.

mod barrier;
mod draw;
mod program;
mod tcp;
mod udp;
mod writer;

pub(crate) use barrier::Barrier;
pub(crate) use draw::start_time;
pub(crate) use program::{Action, Carries, Exchange, Figures, PageLoads};
pub(crate) use tcp::{Sources, TcpSource};
pub(crate) use udp::{UdpPacket, UdpSource};
pub(crate) use writer::Writer;
