//! Delivering data before a process ends.

use super::port::Port;
use super::reactor::Reactor;
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval. A dropped connection has no waker, and a process calls this once.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Waits for the delivery of data that was written to dropped connections, for at most `timeout`.
/// Then it discards these connections. Returns true if all of the data was acknowledged.
///
/// Call this before the process ends, since dropped connections end with it. Connections in use are
/// not affected. If none is left, the I/O thread ends.
pub fn drain(timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    loop {
        let ports = Reactor::<Port>::ports();
        let arrived =
            !ports.iter().any(|port| port.with(|state, _| state.endpoint.is_delivering()));
        if arrived || Instant::now() >= deadline {
            for port in ports {
                port.with(|state, _| state.endpoint.forget_released());
            }
            return arrived;
        }
        thread::sleep(POLL_INTERVAL);
    }
}
