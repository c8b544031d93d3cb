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
mod splitter;

pub use cgroup::Cgroup;
pub use command::run;
pub use connection::Connection;
pub use error::Error;
pub use splitter::{Hook, SPLIT_MAX, Settings, Splitter, check_capabilities};
pub use windlass_namespace::{NOT_EXECUTABLE, NOT_FOUND};
