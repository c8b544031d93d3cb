//! A sans-IO TCP engine.
//!
//! No socket, no thread, no clock and no global source of randomness: segments, the time and the
//! seeds are arguments, and segments, deadlines and events are results. The same code runs over
//! UDP, over raw IP and in virtual time; payload bytes are kept outside it, so that a simulation
//! counts them and stores none ([`stream::Stream`] keeps real ones).
//!
//! The contract of a [`Connection`], for every carrier:
//!
//! 1. change it: [`Connection::handle_segment`], [`Connection::handle_timeout`],
//!    [`Connection::write`], [`Connection::read`], [`Connection::close`], ...;
//! 2. drain it: [`Connection::poll_transmit`] until it yields nothing, and
//!    [`Connection::poll_event`] likewise;
//! 3. call [`Connection::handle_timeout`] no later than [`Connection::poll_timeout`] says.
//!
//! Time never runs backwards between two calls.

#![no_std]

extern crate alloc;

pub mod cc;
pub mod config;
pub mod conn;
mod deadline;
pub mod observer;
mod range_set;
mod receiver;
mod recovery;
pub mod segment;
mod seq;
pub mod stream;

pub use config::{Config, Profile};
pub use conn::{Connection, Error, Event, Run, State};
pub use observer::{Observer, TraceEvent};
pub use range_set::RangeSet;
pub use segment::{Flags, Options, SackBlocks, Segment, Timestamps};
pub use seq::SeqNumber;
pub use windlass_base::{Ecn, Span, Time};
