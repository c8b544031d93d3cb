//! Queue disciplines: [`DropTail`], [`Red`] (Adaptive RED is one of its options), [`CoDel`],
//! [`FqCoDel`], [`Pie`], and [`TcRed`], which is RED as Linux has it.
//!
//! Nothing here does I/O: time and randomness are arguments, so one discipline serves a simulated
//! link and a real one.
//!
//! # How a link uses a queue
//!
//! * A packet arrives: [`Queue::enqueue`]. If the link is free, [`Queue::dequeue`] follows at once,
//!   so the packet on the link never counts as queued.
//! * The link has finished a packet: [`Queue::dequeue`]. `None` makes the link idle, and tells RED
//!   when its idle time began: a link asks exactly once when it falls idle.
//! * Points in time never decrease from call to call.
//! * No discipline needs a timer. What is periodic in a specification (Adaptive RED's step every
//!   half second, PIE's update every 15 ms) is made up for from `now` at the next call, before the packet is looked at.
//!
//! # A discipline of your own
//!
//! Implement [`Queue`] in a crate of yours, with [`Fifo`] for what waits and [`Stats`] for the
//! counting, and [`QueueFactory`] for its settings; [`Config::custom`] brings it to a link.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod accessors;

mod codel;
mod config;
mod custom;
mod discipline;
mod drop_tail;
mod error;
mod fifo;
mod fq_codel;
mod limit;
mod packet;
mod pie;
mod queue;
mod red;
mod stamped;
mod stats;
mod tc_red;

pub use codel::{CoDel, CoDelConfig, CoDelParams};
pub use config::Config;
pub use custom::{Custom, CustomConfig, CustomQueue, QueueFactory, Ticket};
pub use discipline::Discipline;
pub use drop_tail::{DropTail, DropTailConfig};
pub use error::ConfigError;
pub use fifo::Fifo;
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use limit::Limit;
pub use packet::Packet;
pub use pie::{Pie, PieConfig};
pub use queue::Queue;
pub use red::{AboveMax, AdaptiveConfig, EarlyAction, Red, RedConfig, Spacing, Unit};
pub use stats::{DropReason, Stats};
pub use tc_red::{TcRed, TcRedConfig};
