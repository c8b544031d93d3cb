//! The result of reading a scenario file: the scenario, its seed, and where it comes from.
//! [`resolve`](crate::resolve) makes it.

use windlass_sim::Scenario;

/// The seed of a scenario that names none.
pub const DEFAULT_SEED: u64 = 1;

/// A scenario, and the other contents of its file.
#[derive(Clone, Debug)]
pub struct Document {
    /// The experiment.
    pub scenario: Scenario,
    /// The seed to run it with, unless the user gives another.
    pub seed: u64,
    /// Where the experiment comes from, if the file says so.
    pub source: Option<Source>,
    /// The keys that its links and flows come from.
    pub origins: Origins,
}

/// The keys of a file that the parts of its scenario come from, as dotted paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Of each link: the table with its properties, such as `dumbbell.access.0`.
    pub links: Vec<String>,
    /// Of each TCP flow: its table, such as `flows.0`.
    pub flows: Vec<String>,
}

/// Where an experiment comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Author, title, year.
    pub paper: String,
    /// Section of the paper.
    pub section: Option<String>,
    /// Table of the paper.
    pub table: Option<String>,
    /// Figure of the paper.
    pub figure: Option<String>,
    /// A remark about it.
    pub note: Option<String>,
}
