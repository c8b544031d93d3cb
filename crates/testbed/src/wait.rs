//! Polling a condition with a deadline: tests never sleep for a guessed time.

use std::thread;
use std::time::{Duration, Instant};

/// The deadline of every wait: longer than anything in a test takes on a machine under load.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The time between two polls.
const INTERVAL: Duration = Duration::from_millis(5);

/// Polls `done` until it is true; false after [`PATIENCE`].
pub fn eventually(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > PATIENCE {
            return false;
        }
        thread::sleep(INTERVAL);
    }
    true
}

/// Polls `done` until it is true.
///
/// # Panics
///
/// After [`PATIENCE`], with `what` as the condition that never held.
#[track_caller]
pub fn wait_until(what: &str, done: impl FnMut() -> bool) {
    assert!(eventually(done), "not within {} s: {what}", PATIENCE.as_secs());
}
