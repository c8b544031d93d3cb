//! Settings of Stabilized RED.

use crate::error::{check_positive, check_probability};
use crate::{ConfigError, EarlyAction, Limit};

/// Settings of [`Sred`](crate::Sred).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SredConfig {
    /// The buffer: B in the paper. Default: 100 packets.
    pub limit: Limit,
    /// Number of remembered flows: M in the paper. Default: 1000.
    pub zombies: u32,
    /// Probability that an arrival of another flow overwrites the zombie it was compared with: p in
    /// the paper. Default: 0.25.
    pub overwrite: f64,
    /// Probability of a drop or mark from a third of the buffer on. Default: 0.15.
    pub max_p: f64,
    /// The number of flows from which the probability does not grow further. Default: 256.
    pub most_flows: f64,
    /// Full SRED: an arrival that finds a zombie of its own flow is chosen more often, by the number
    /// of flows. False: simple SRED. Default: true.
    pub full: bool,
    /// Action on packets chosen at random. Default: mark.
    pub action: EarlyAction,
}

impl Default for SredConfig {
    fn default() -> Self {
        SredConfig {
            limit: Limit::Packets(100),
            zombies: 1000,
            overwrite: 0.25,
            max_p: 0.15,
            most_flows: 256.0,
            full: true,
            action: EarlyAction::Mark,
        }
    }
}

impl SredConfig {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// The first setting that cannot work.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.limit.validate()?;
        check_positive(f64::from(self.zombies), "zombies")?;
        check_probability(self.overwrite, "overwrite")?;
        check_probability(self.max_p, "max_p")?;
        check_positive(self.most_flows, "most_flows")
    }

    /// Whether it may mark ECN-capable packets.
    pub(crate) fn can_mark(&self) -> bool {
        self.action == EarlyAction::Mark
    }
}
