//! The traffic of applications: when transfers begin, how many bytes they have, and the next request
//! after a response.
//!
//! Nothing here reads a clock, does I/O or knows TCP: times and random numbers are arguments, so the
//! same seed gives the same traffic on every machine. Sizes are in bytes of payload, rates of arrivals
//! per second of the simulation, times since the source began.
//!
//! - [`Sizes`]: a fixed size, a distribution, or an [`EmpiricalCdf`] such as those of data centres.
//! - [`Arrivals`]: a [`Process`] that draws the times, with sizes, or an [`ArrivalList`] of both.
//! - [`rate_for_load`]: how many arrivals a second load a link to a given share.
//! - [`dialogue`]: requests, responses, and times to think.
//! - [`page`]: a document and its objects over several connections.
//! - [`video`]: a client of video over HTTP that chooses its bitrate.
//! - [`media`]: frames in packets, each with a deadline.
//!
//! # Example
//!
//! Flows with the sizes of a web search that load a link of 100 Mbit/s to 60 %.
//!
//! ```
//! use std::sync::Arc;
//! use windlass_base::{BitRate, Rng};
//! use windlass_traffic::{Arrivals, EmpiricalCdf, Process, Segments, Sizes, rate_for_load};
//!
//! let link = BitRate::from_bits_per_sec(100_000_000).expect("not zero");
//! let sizes = Sizes::Empirical(Arc::new(EmpiricalCdf::web_search()));
//! let segments = Segments { mss: 1460, header_bytes: 40 };
//! let per_second = rate_for_load(0.6, link, &sizes, segments)?;
//! assert!((4.2..4.3).contains(&per_second), "1.7 MB each");
//!
//! let arrivals = Arrivals::Drawn { process: Process::Poisson { per_second }, sizes, count: None };
//! arrivals.validate()?;
//! let mut stream = arrivals.stream(Rng::new(1));
//! let (first, second) = (stream.next().expect("endless"), stream.next().expect("endless"));
//! assert!(first.at <= second.at && first.bytes > 0);
//! # Ok::<(), windlass_traffic::ConfigError>(())
//! ```

mod arrival;
mod arrivals;
pub mod dialogue;
mod empirical;
mod error;
mod list;
mod load;
pub mod media;
mod normal;
pub mod page;
mod process;
mod sizes;
mod text;
pub mod video;

pub use arrival::Arrival;
pub use arrivals::{ArrivalStream, Arrivals};
pub use empirical::EmpiricalCdf;
pub use error::{ConfigError, TextError};
pub use list::ArrivalList;
pub use load::{Segments, rate_for_load};
pub use process::{OnOff, Process};
pub use sizes::Sizes;
