//! The error of [`Simulation::new`](crate::Simulation::new).

use std::fmt;
use windlass_aqm::ConfigError;

/// Why a network cannot be built from a scenario.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// A queue's settings cannot work.
    Queue {
        /// The link.
        link: String,
        /// The setting that cannot work.
        error: ConfigError,
    },
    /// No path connects the two ends of a flow in both directions.
    Unreachable {
        /// The flow.
        flow: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Queue { link, error } => write!(f, "queue of link {link}: {error}"),
            BuildError::Unreachable { flow } => {
                write!(f, "flow {flow}: its ends do not reach each other")
            }
        }
    }
}

impl std::error::Error for BuildError {}
