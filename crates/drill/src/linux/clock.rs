//! The system's monotonic clock, from the start of a host.

use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_getres, clock_gettime};
use std::time::{Duration, Instant};
use windlass_base::{Span, Time};

/// Below this the program spins: a thread does not wake at the very microsecond.
const SPIN: Span = Span::from_micros(20);

/// How far behind a tick of the kernel's timers a script is to begin.
const AFTER_TICK_NS: i64 = 250_000;

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

    /// The next time that lies a little behind a tick of the kernel's timers. A script whose events are milliseconds
    /// apart and begin there has none at a tick, where the least delay would make a timer a whole tick later.
    pub(super) fn next_after_tick(self) -> Time {
        let ticks = ClockId::CLOCK_MONOTONIC_COARSE;
        let read = |result: nix::Result<TimeSpec>| result.map_or(0, |time| time.num_nanoseconds());
        let (tick, between) = (read(clock_gettime(ticks)), read(clock_getres(ticks)));
        let passed = read(clock_gettime(ClockId::CLOCK_MONOTONIC)) - tick;
        let rest = (AFTER_TICK_NS - passed).rem_euclid(between.max(1));
        self.now() + Span::from_nanos(rest.cast_unsigned())
    }

    /// How long a thread may sleep before `until`; `None` if it is to spin for the rest.
    pub(super) fn sleep_before(self, until: Time) -> Option<TimeSpec> {
        let rest = until.saturating_since(self.now()).saturating_sub(SPIN);
        (!rest.is_zero()).then(|| TimeSpec::from_duration(Duration::from_nanos(rest.as_nanos())))
    }
}
