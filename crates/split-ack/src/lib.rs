//! ACK division for any program (R. E. G. Normann, *A Client-side Split ACK Tool for TCP Slow Start
//! Investigation*, Oslo 2011): the kernel's own ACKs of a command's connections are replaced by
//! several with ascending numbers, and what comes in for it is counted.
//!
//! The command runs in a [`Cgroup`] of its own; the programs of a [`Splitter`] know its connections by
//! that. Nothing is pinned: all of it goes with the process.

mod cgroup;
mod command;
mod connection;
mod error;
mod splitter;

pub use cgroup::Cgroup;
pub use command::{NOT_EXECUTABLE, NOT_FOUND, run};
pub use connection::Connection;
pub use error::Error;
pub use splitter::{Hook, SPLIT_MAX, Settings, Splitter, check_capabilities};
