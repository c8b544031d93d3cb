//! The system's monotonic clock, from the start of a host.

use nix::sys::time::TimeSpec;
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};

/// Below this the program spins: a thread does not wake at the very microsecond.
const SPIN: Span = Span::from_micros(20);

/// The time since the start of a host.
#[derive(Copy, Clone, Debug)]
pub(super) struct Clock(Instant);

impl Clock {
    /// It starts now.
    pub(super) fn start() -> Clock {
        Clock(Instant::now())
    }

    /// The time since the start.
    pub(super) fn now(self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// How long a thread may sleep before `until`; `None` if it is to spin for the rest.
    pub(super) fn sleep_before(self, until: Time) -> Option<TimeSpec> {
        let rest = until.saturating_since(self.now()).saturating_sub(SPIN);
        (!rest.is_zero()).then(|| TimeSpec::from_duration(Duration::from_nanos(rest.as_nanos())))
    }
}
