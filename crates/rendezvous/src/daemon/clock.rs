//! Time since 1970. Nonces are derived from it, so that they outlive a restart of the daemon.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use windlass_base::{Span, Time};

/// A clock that runs evenly, whatever is done to the system's.
pub(super) struct Clock {
    start: Instant,
    offset: Span,
}

impl Clock {
    pub(super) fn new() -> Clock {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { start: Instant::now(), offset: Span::from_nanos(since_1970.as_nanos() as u64) }
    }

    pub(super) fn now(&self) -> Time {
        Time::ZERO + self.offset + Span::from_nanos(self.start.elapsed().as_nanos() as u64)
    }

    /// The time of the start.
    pub(super) fn start(&self) -> Time {
        Time::ZERO + self.offset
    }
}
