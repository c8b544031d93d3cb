//! Bursts: the cost of a larger flight at the bottleneck of a path, in delay and loss.

mod order;
mod report;
mod run;
mod statistics;
mod verdict;

pub use order::BurstOrder;
pub use report::BurstRun;
pub(crate) use run::Burst;
pub use statistics::Estimate;
pub use verdict::{BurstVerdict, Difference, RUNS_MIN, SizeRow};
