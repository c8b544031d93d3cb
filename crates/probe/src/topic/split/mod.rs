//! The split-ACK test: how slow start reacts to ACKs that each acknowledge a part of a segment.
//!
//! A connection collects the first flight, of which nothing is acknowledged until it is quiet; then the ACKs of the
//! test leave in one burst, and the packets that they bring are counted. Models predict these counts, and
//! [`classify`] says which one the runs of a server fit.

mod greeting;
mod model;
mod observe;
mod order;
mod report;
mod response;
mod run;
mod verdict;

pub(crate) use model::Model;
pub use order::{PARTS_MAX, PARTS_POLITE, SplitOrder, Test};
pub use report::{Exchanged, Flight, Observation};
pub(crate) use run::Split;
pub(crate) use verdict::median;
pub use verdict::{InitialWindow, Limit, Reaction, Verdict, classify};

#[cfg(test)]
pub(crate) use model::tests::run as run_of;
