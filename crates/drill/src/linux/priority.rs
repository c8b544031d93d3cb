//! A real-time priority while a script runs, so that other programs do not delay its events.

use super::sys;
use nix::libc;

/// Raises the calling thread's priority while it lives; the same thread drops it. Programs that it starts have the usual one.
#[derive(Debug)]
pub(super) struct Priority {
    was_raised: bool,
}

impl Priority {
    /// The lowest of the real-time priorities, if the process may have it. A thread that has one keeps it.
    pub(super) fn raise() -> Priority {
        let is_usual = sys::policy() == libc::SCHED_OTHER;
        // Threads of one priority take turns, as where the script's and the call's share a processor.
        let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
        Priority { was_raised: is_usual && sys::set_policy(policy, 1).is_ok() }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if self.was_raised {
            let _ = sys::set_policy(libc::SCHED_OTHER, 0);
        }
    }
}
