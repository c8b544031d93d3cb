//! What the TCP engine, the queue disciplines and the simulator share: points and spans of time,
//! rates, ECN codepoints, and the random stream.
//!
//! Nothing here reads a clock or gathers entropy: time and seeds are arguments.

#![no_std]

mod ecn;
mod rate;
mod rng;
mod time;

pub use ecn::Ecn;
pub use rate::BitRate;
pub use rng::Rng;
pub use time::{Span, Time};
