//! Measures a path with ToU, as `windlass tou perf` does.
//!
//! 1. A [`Client`] asks a [`Server`] for a [`Test`] over a control connection, and opens the connections
//!    of the test.
//! 2. One end sends on all of them. [`Client::run`] reports an [`Interval`] again and again.
//! 3. Both ends exchange their [`Figures`], which make the [`Outcome`].
//!
//! Each connection has threads of its own that block. `docs/reference/tou.md` specifies the messages.

mod client;
mod control;
mod cpu;
mod error;
mod figures;
mod message;
mod open_streams;
mod rtt_samples;
mod server;
mod transfer;

pub use client::Client;
pub use error::Error;
pub use figures::{Figures, Interval, StreamFigures, bit_per_s, sum};
pub use message::{Direction, Limit, STREAMS_MAX, Test};
pub use open_streams::OpenStreams;
pub use rtt_samples::RttSamples;
pub use server::{BACKLOG, Controllers, FinishedTest, Server};
pub use transfer::{Outcome, TestStream};

use windlass_tou::{KeepAlive, Span};

/// Keep-alives for the connections of a test. They detect a vanished peer within about a minute.
pub const KEEP_ALIVE: KeepAlive =
    KeepAlive { idle: Span::from_secs(15), interval: Span::from_secs(15), probes: 4 };
