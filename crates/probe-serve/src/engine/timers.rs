//! The deadlines of a server's connections. A server of many idle ones looks only at those that are due.

use windlass_base::{Deadlines, Time};
use windlass_probe::wire::Flow;

/// The times at which connections want to be called, in their order.
#[derive(Debug, Default)]
pub(super) struct Timers {
    entries: Deadlines<Flow>,
    /// Entries looked at because they were due.
    #[cfg(test)]
    pub(super) examined: usize,
}

impl Timers {
    /// The earliest time.
    pub(super) fn next(&self) -> Option<Time> {
        self.entries.next()
    }

    /// Moves the entry of `flow` from `old`, where the caller keeps it, to `new`.
    pub(super) fn set(&mut self, flow: &Flow, old: &mut Option<Time>, new: Option<Time>) {
        self.entries.set(old, new, *flow);
    }

    /// Removes the earliest entry if it is due at `now`, and returns its connection. The caller clears
    /// the time that it keeps.
    pub(super) fn pop(&mut self, now: Time) -> Option<Flow> {
        let (_, flow) = self.entries.pop(now)?;
        #[cfg(test)]
        {
            self.examined += 1;
        }
        Some(flow)
    }
}
