//! The system's monotonic clock, from the start of a host.

use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, clock_getres};
use std::io;
use std::os::unix::net::UnixDatagram;
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

    /// The time of a tick of the kernel's timers.
    ///
    /// # Errors
    ///
    /// The system has no sockets.
    pub(super) fn at_tick(self) -> io::Result<Time> {
        let socket = UnixDatagram::unbound()?;
        // The timeout of a socket ends at a tick, as TCP's timers do; those of poll and sleep are finer.
        socket.set_read_timeout(Some(Duration::from_millis(1)))?;
        // No socket sends to it.
        let _ = socket.recv(&mut [0]);
        Ok(self.now())
    }

    /// The next time in the middle between two ticks. A script that begins there and whose events are milliseconds apart
    /// has none at a tick, where the least delay would make a timer a whole tick later.
    pub(super) fn next_between_ticks(self, tick: Time) -> Time {
        let period = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE);
        let period = period.map_or(0, |period| period.num_nanoseconds().cast_unsigned()).max(1);
        let now = self.now();
        let passed = now.saturating_since(tick).as_nanos() % period;
        now + Span::from_nanos((period + period / 2 - passed) % period)
    }

    /// How long a thread may sleep before `until`; `None` if it is to spin for the rest.
    pub(super) fn sleep_before(self, until: Time) -> Option<TimeSpec> {
        let rest = until.saturating_since(self.now()).saturating_sub(SPIN);
        (!rest.is_zero()).then(|| TimeSpec::from_duration(Duration::from_nanos(rest.as_nanos())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_between_two_ticks_is_within_a_period() {
        let clock = Clock::start();
        let period = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("a clock");
        let period = Span::from_nanos(period.num_nanoseconds().cast_unsigned());
        for tick in [Time::ZERO, clock.now()] {
            let (before, middle) = (clock.now(), clock.next_between_ticks(tick));
            assert!(middle >= before && middle <= clock.now() + period, "{middle}");
            let phase = middle.saturating_since(tick).as_nanos() % period.as_nanos();
            assert_eq!(phase, period.as_nanos() / 2);
        }
    }
}
