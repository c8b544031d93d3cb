//! The topics of the probe, each in a folder: its order (what is asked for), its run (the state while a connection
//! lasts), its report (what was found) and its verdict. A connection of any topic is driven through one trait,
//! `Run`. Scouts, and connections that open the way for the measured one, have a run only.
//!
//! A new topic is a folder here, a variant of [`Purpose`] with its line in `start`, and a field of [`Report`].

pub mod burst;
pub mod cca;
pub(crate) mod channel;
pub mod ecn;
mod ending;
mod order;
mod report;
pub(crate) mod run;
pub(crate) mod scout;
pub mod split;

pub use ending::Ending;
pub use order::{Order, Purpose};
pub use report::{Heard, Report, SynAck};

use run::Run;

/// The run of a connection that is about to begin.
pub(crate) fn start(purpose: Purpose) -> Box<dyn Run> {
    match purpose {
        Purpose::Scout => Box::new(scout::Scout::new(None)),
        Purpose::Ecn(ask) => Box::new(scout::Scout::new(Some(ask))),
        Purpose::Open => Box::new(scout::Open),
        Purpose::Measure(order) => Box::new(split::Split::new(order)),
        Purpose::Identify(order) => Box::new(cca::Identify::new(order)),
        Purpose::Burst(order) => Box::new(burst::Burst::new(order)),
    }
}
