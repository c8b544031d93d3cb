//! The carrier on Linux: raw sockets, and a loop that serves any number of probes with three of them.
//!
//! However the process ends, it leaves nothing behind: it uses sockets and no firewall rule.

mod driver;
mod ended;
mod filter;
mod measure;
mod ports;
mod resolver;
mod socket;
mod survey;

pub use driver::Driver;
pub use measure::measure;
pub use survey::{Watcher, survey};
