//! CPU time of this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Microseconds since the process began, by itself and in the kernel for it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct CpuTime {
    pub(super) user_us: u64,
    pub(super) system_us: u64,
}

impl CpuTime {
    /// Until now.
    pub(super) fn now() -> CpuTime {
        // It fails for bad arguments alone.
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return CpuTime::default() };
        let us = |time: nix::sys::time::TimeVal| time.num_microseconds().unsigned_abs();
        CpuTime { user_us: us(usage.user_time()), system_us: us(usage.system_time()) }
    }

    /// The time spent since `then`.
    pub(super) fn since(self, then: CpuTime) -> CpuTime {
        CpuTime {
            user_us: self.user_us.saturating_sub(then.user_us),
            system_us: self.system_us.saturating_sub(then.system_us),
        }
    }
}
