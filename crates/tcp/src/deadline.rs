//! A deadline in eight bytes, without the tag of an `Option`.

use windlass_base::Time;

/// The time at which a timer expires, if it runs.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Time);

impl Deadline {
    /// The timer does not run.
    pub(crate) const NEVER: Deadline = Deadline(Time::MAX);

    pub(crate) fn at(time: Time) -> Deadline {
        Deadline(time)
    }

    pub(crate) fn is_set(self) -> bool {
        self != Deadline::NEVER
    }

    pub(crate) fn time(self) -> Option<Time> {
        self.is_set().then_some(self.0)
    }

    /// True if none of these timers runs.
    pub(crate) fn none_is_set(timers: [Deadline; 4]) -> bool {
        // The largest number has all bits: the bits common to all say it in fewer steps than four comparisons.
        let common = timers.iter().fold(u64::MAX, |bits, timer| bits & timer.0.as_nanos());
        common == Deadline::NEVER.0.as_nanos()
    }

    pub(crate) fn has_expired(self, now: Time) -> bool {
        self.is_set() && self.0 <= now
    }
}

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline::NEVER
    }
}
