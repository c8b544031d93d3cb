//! The last thing that a process does.

use super::reactor::Reactor;
use std::thread;
use std::time::{Duration, Instant};

/// How often it looks. No waker waits with a connection that was dropped, and this is asked for once.
const TURN: Duration = Duration::from_millis(2);

/// Waits, at most `timeout`, until what was written to connections that have been dropped has
/// arrived, and then forgets them: a process that ends takes them along. True if all has arrived.
///
/// Connections in use go on. Without any the driver's thread ends.
pub fn drain(timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        let ports = Reactor::ports();
        let arrived =
            !ports.iter().any(|port| port.with(|state, _| state.endpoint.is_delivering()));
        if arrived || Instant::now() >= deadline {
            for port in ports {
                port.with(|state, _| state.endpoint.forget_released());
            }
            return arrived;
        }
        thread::sleep(TURN);
    }
}
