//! Wakes a thread that waits with poll.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(windows, path = "windows.rs")]
mod system;

pub(super) use system::{Waker, Woken, pair};
