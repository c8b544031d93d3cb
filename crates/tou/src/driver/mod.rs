//! Connects endpoints to UDP sockets. One I/O thread serves all sockets of a process.
//!
//! A [`Port`] is a UDP socket and its endpoint behind a lock. An application thread changes the
//! endpoint and sends the resulting datagrams itself, as a system call of TCP does. The I/O thread
//! in [`reactor`] receives and runs the timers. It starts with the first port and ends with the
//! last. A caller that has to wait leaves a [`Waker`](std::task::Waker). Parked threads, tasks and
//! the descriptors of C programs all wait in this way.

mod buffers;
mod companion;
mod drain;
mod icmp;
mod inline_receive;
mod options;
mod pieces;
mod poller;
mod port;
mod reactor;
mod reusable_ports;
mod short_lived;
mod source;
mod wait;
mod waiters;
mod wakes;

#[cfg(feature = "session")]
pub(crate) use companion::{Companion, Destination, Own};
pub use drain::drain;
pub(crate) use port::{Callback, Port, PortRef, PortState};
pub(crate) use reactor::now;
pub(crate) use source::client_source_for;
#[cfg(feature = "session")]
pub(crate) use source::source_for;
pub(crate) use wait::block_on;
#[cfg(feature = "session")]
pub(crate) use waiters::{Waiters, register};
#[cfg(feature = "secure")]
pub(crate) use wakes::PostponeWakes;
