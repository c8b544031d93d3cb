//! CPU time of this process.

/// Microseconds since the process began, by itself and in the kernel for it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct CpuTime {
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
}

impl CpuTime {
    /// Until now.
    #[cfg(unix)]
    pub(crate) fn now() -> CpuTime {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::{TimeVal, TimeValLike};
        // It fails for bad arguments alone.
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return CpuTime::default() };
        let us = |time: TimeVal| time.num_microseconds().unsigned_abs();
        CpuTime { user_us: us(usage.user_time()), system_us: us(usage.system_time()) }
    }

    /// Until now.
    #[cfg(windows)]
    #[expect(unsafe_code, reason = "the standard library has no call for it")]
    pub(crate) fn now() -> CpuTime {
        use windows_sys::Win32::Foundation::FILETIME;
        use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};
        let zero = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
        let [mut began, mut ended, mut system, mut user] = [zero; 4];
        // SAFETY: each pointer is to a FILETIME that outlives the call; a process's handle of itself is
        // always valid.
        let done = unsafe {
            GetProcessTimes(GetCurrentProcess(), &mut began, &mut ended, &mut system, &mut user)
        };
        // It fails for bad arguments alone.
        if done == 0 {
            return CpuTime::default();
        }
        // In units of 100 ns.
        let us = |time: FILETIME| {
            (u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)) / 10
        };
        CpuTime { user_us: us(user), system_us: us(system) }
    }

    /// The time spent since `then`.
    pub(crate) fn since(self, then: CpuTime) -> CpuTime {
        CpuTime {
            user_us: self.user_us.saturating_sub(then.user_us),
            system_us: self.system_us.saturating_sub(then.system_us),
        }
    }
}
