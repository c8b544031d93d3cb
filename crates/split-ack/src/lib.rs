//! ACK division for any program (R. E. G. Normann, *A Client-side Split ACK Tool for TCP Slow Start
//! Investigation*, Oslo 2011). BPF programs replace each ACK of a command's connections by several ACKs
//! with ascending numbers, and count the segments that arrive.
//!
//! The command runs in its own [`Cgroup`], by which the programs of a [`Splitter`] identify its
//! connections. Nothing is pinned: the kernel removes the programs when the process ends.

mod cgroup;
mod command;
mod connection;
mod error;
mod reader;
mod splitter;
mod transfer;

pub use cgroup::Cgroup;
pub use command::{Ended, Runner, Streams, status_after};
pub use connection::Connection;
pub use error::Error;
pub use splitter::{Hook, Settings, Splitter, check_capabilities};
pub use transfer::{LaterRounds, ROUNDS_MAX, Round, Transfer};
pub use windlass_namespace::{NOT_EXECUTABLE, NOT_FOUND};
