//! The threads and tasks that wait for a connection. The endpoint keeps this as the user's state of
//! each connection; `driver::port` wakes them on its events.

use std::task::Waker;

/// Wakers and flags of one connection, stored with it in the endpoint.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    pub(crate) reading: Vec<Waker>,
    pub(crate) writing: Vec<Waker>,
    /// The application has received the connection's error.
    pub(crate) error_reported: bool,
    /// Errno of the ICMP report, or of the call, that ended the opening of this connection.
    pub(crate) icmp_errno: Option<i32>,
    /// The application has shut down reading.
    pub(crate) reading_closed: bool,
}

/// Adds a waker to a list unless it is there already.
pub(crate) fn register(wakers: &mut Vec<Waker>, waker: &Waker) {
    if !wakers.iter().any(|left| left.will_wake(waker)) {
        wakers.push(waker.clone());
    }
}
