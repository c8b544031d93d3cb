//! Sockets under endpoints: one thread for all of them, and whoever writes sends.
//!
//! A [`Port`] is a UDP socket and its endpoint behind a lock. Application threads change the
//! endpoint and send what it then wants sent, as a system call of TCP does; the thread of
//! [`reactor`] receives, and keeps the timers. It begins with the first port and ends with the
//! last. Whoever has to wait leaves a [`Waker`](std::task::Waker): a parked thread, a task and the
//! descriptor of a C program wait alike.

mod buffers;
mod drain;
mod icmp;
mod options;
mod port;
mod reactor;
mod resting;
mod sleep;
mod streak;
mod wait;

pub use drain::drain;
pub(crate) use port::{Callback, Port, PortRef, PortState};
pub(crate) use wait::block_on;
