//! When something is due.

use crate::script::{CallSpec, Position};
use windlass_base::Span;

/// The times at which an event may happen, in nanoseconds since the first one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) from: i64,
    pub(super) until: i64,
    /// Any time will do.
    pub(super) any: bool,
    /// How far it may be off.
    pub(super) tolerance: i64,
    /// The time from which a relative time counts; 0 for an absolute one.
    pub(super) origin: i64,
}

pub(super) fn nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

impl Due {
    /// Why something at this time is not in time; `None` if it is.
    pub(super) fn fault(&self, at: i64) -> Option<String> {
        if self.any || (self.from - self.tolerance..=self.until + self.tolerance).contains(&at) {
            return None;
        }
        let (tolerance, at) = (seconds(self.tolerance), seconds(at));
        Some(format!("expected at {} s, tolerance {tolerance} s; happened at {at} s", self.text()))
    }

    /// The time as text.
    pub(super) fn text(&self) -> String {
        match *self {
            Due { any: true, .. } => "*".to_owned(),
            Due { from, until, .. } if from == until => seconds(from),
            Due { from, until, .. } => format!("{}~{}", seconds(from), seconds(until)),
        }
    }
}

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) position: Position,
    pub(super) spec: CallSpec,
    /// When it returns, if it blocks.
    pub(super) end: Option<Due>,
}

/// Seconds with six digits behind the point.
pub(super) fn seconds(nanos: i64) -> String {
    format!("{:.6}", nanos as f64 / 1e9)
}
