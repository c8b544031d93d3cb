//! Types that the TCP engine, the queue disciplines, the simulator and the tools share: points and
//! spans of time, distributions of spans, deadlines, rates, token buckets, ECN codepoints, the random
//! stream, the Internet checksum, which IP addresses are special, and packet captures.
//!
//! Nothing in this crate reads a clock or gathers entropy: time and seeds are arguments.
//!
//! # Example
//!
//! ```
//! use windlass_base::{BitRate, Rng, Span, Time};
//!
//! // A 10 Mbit/s link transmits a packet of 1500 bytes in 1.2 ms.
//! let rate = BitRate::from_bits_per_sec(10_000_000).expect("not zero");
//! let sent = Time::ZERO + Span::from_millis(5);
//! let arrived = sent + rate.transmission_time(1500);
//! assert_eq!(arrived - sent, Span::from_micros(1200));
//!
//! // The same seed gives the same draws on every machine.
//! let mut rng = Rng::new(1);
//! let lost = (0..1000).filter(|_| rng.chance(0.01)).count();
//! let mut again = Rng::new(1);
//! assert_eq!(lost, (0..1000).filter(|_| again.chance(0.01)).count());
//! ```
//!
//! # Features
//!
//! `suggest`: what users write, that is texts from any editor (module `text_file`) and suggestions for
//! misspelt names (module `suggest`). `address`: addresses, networks and host names, read strictly
//! (module `address`). `dial`: in which order to try the addresses of a name (module `dial`). `paths`:
//! paths in configuration files (module `paths`). These need the standard library; without them the
//! crate needs none.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "address", feature = "dial", feature = "paths", feature = "suggest"))]
extern crate std;

#[cfg(feature = "address")]
pub mod address;
pub mod checksum;
mod deadlines;
#[cfg(feature = "dial")]
pub mod dial;
mod distribution;
mod ecn;
#[cfg(feature = "paths")]
pub mod paths;
pub mod pcapng;
mod printable;
mod rate;
mod rng;
pub mod special;
#[cfg(feature = "suggest")]
pub mod suggest;
#[cfg(feature = "suggest")]
pub mod text_file;
mod time;
mod token_bucket;

pub use deadlines::Deadlines;
pub use distribution::{Distribution, Sketch};
pub use ecn::Ecn;
pub use printable::{is_unprintable, printable, printable_lines};
pub use rate::BitRate;
pub use rng::Rng;
pub use time::{Span, Time};
pub use token_bucket::{RateLimit, TokenBucket};
