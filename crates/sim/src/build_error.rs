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
        /// What is wrong with them.
        error: ConfigError,
    },
    /// There is no path between the two ends of a flow, or none back.
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
