use std::collections::BTreeSet;
use windlass_base::Time;
use windlass_probe::wire::Flow;

/// The times at which connections want to be called, in their order.
#[derive(Debug, Default)]
pub(super) struct Timers {
    entries: BTreeSet<(Time, Flow)>,
    /// Entries looked at because they were due.
    #[cfg(test)]
    pub(super) examined: usize,
}

impl Timers {
    /// The earliest time.
    pub(super) fn next(&self) -> Option<Time> {
        self.entries.first().map(|(at, _)| *at)
    }

    /// Moves the entry of `flow` from `old`, where the caller keeps it, to `new`.
    pub(super) fn set(&mut self, flow: &Flow, old: &mut Option<Time>, new: Option<Time>) {
        if *old == new {
            return;
        }
        if let Some(old) = std::mem::replace(old, new) {
            self.entries.remove(&(old, *flow));
        }
        if let Some(new) = new {
            self.entries.insert((new, *flow));
        }
    }

    /// Removes the earliest entry if it is due at `now`, and returns its connection. The caller clears
    /// the time that it keeps.
    pub(super) fn pop(&mut self, now: Time) -> Option<Flow> {
        self.next().filter(|at| *at <= now)?;
        #[cfg(test)]
        {
            self.examined += 1;
        }
        self.entries.pop_first().map(|(_, flow)| flow)
    }
}
