//! The traffic of applications: when transfers begin, and how many bytes they have.
//!
//! Nothing here reads a clock, does I/O or knows TCP: times and random numbers are arguments, so the
//! same seed gives the same traffic on every machine. Sizes are in bytes of payload, rates of arrivals
//! per second of the simulation, times since the source began.
//!
//! - [`Sizes`]: a fixed size, a distribution, or an [`EmpiricalCdf`] such as those of data centres.
//! - [`Arrivals`]: a [`Process`] that draws the times, with sizes, or an [`ArrivalList`] of both.
//! - [`rate_for_load`]: how many arrivals a second load a link to a given share.
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

mod arrivals;
mod empirical;
mod error;
mod list;
mod load;
mod normal;
mod process;
mod sizes;
mod text;

pub use arrivals::{Arrival, ArrivalStream, Arrivals};
pub use empirical::EmpiricalCdf;
pub use error::{ConfigError, TextError};
pub use list::ArrivalList;
pub use load::{Segments, rate_for_load};
pub use process::{OnOff, Process};
pub use sizes::Sizes;
