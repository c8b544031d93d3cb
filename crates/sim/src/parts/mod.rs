//! One run on several threads: conservative synchronisation with lookahead (Chandy and Misra 1979; Bryant 1977),
//! in windows with a barrier between them.
//!
//! A [`Plan`] cuts the network at channels with a delay. Each part is a whole copy of the network that simulates
//! only its own nodes, in a thread of its own. A packet that leaves a part arrives elsewhere no earlier than the
//! least delay of the cut channels: for that long, all parts run without asking each other (`exchange.rs`). The
//! result is that of one thread, bit for bit, since events of the same time keep the order that they have there
//! (`order.rs`).

pub(crate) mod exchange;
mod groups;
pub(crate) mod inlet;
pub(crate) mod order;
mod plan;
pub(crate) mod results;
mod work;

pub use plan::{OneThread, Plan};

use crate::build_error::BuildError;
use std::fmt;

/// Why a run in parts has no result.
#[derive(Clone, Debug, PartialEq)]
pub enum PartsError {
    /// No network can be built from the scenario.
    Build(BuildError),
    /// A connection between two parts has ended, which depends on both its ends at once. One thread gives the
    /// result; what recorders have written so far is void.
    Ended {
        /// The flow.
        flow: String,
    },
    /// The recorder cannot be divided.
    Recorder,
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartsError::Build(error) => error.fmt(f),
            PartsError::Ended { flow } => {
                write!(f, "the connection of {flow}, with an end in each of two parts, has ended")
            }
            PartsError::Recorder => f.write_str("what is recorded depends on all parts at once"),
        }
    }
}

impl std::error::Error for PartsError {}
