//! The callback for STUN messages. After its removal has returned, it does not run any more.

use crate::address::RawAddress;
use crate::lock::lock;
use libc::{c_int, c_void, sockaddr, socklen_t};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// `tou_stun_callback` of tou.h.
pub type Callback = unsafe extern "C" fn(
    fd: c_int,
    message: *const c_void,
    len: usize,
    from: *const sockaddr,
    from_len: socklen_t,
    context: *mut c_void,
);

#[derive(Copy, Clone, Debug)]
struct Registration {
    fd: c_int,
    callback: Callback,
    context: *mut c_void,
}

// SAFETY: tou.h documents that the callback runs in another thread, with this context.
unsafe impl Send for Registration {}

/// The calling thread. std's own value is not available when exit(3) closes sockets.
fn this_thread() -> libc::pthread_t {
    // SAFETY: the call has no preconditions.
    unsafe { libc::pthread_self() }
}

/// The callback of one port, if any, and the thread that runs it.
#[derive(Debug, Default)]
pub(crate) struct Stun {
    registration: Mutex<Option<Registration>>,
    /// Held while the callback runs.
    running: Mutex<()>,
    runs_in: Mutex<Option<libc::pthread_t>>,
}

impl Stun {
    /// Sets or removes the callback. When this returns, the previous callback is not running, unless
    /// it is the caller.
    pub(crate) fn set(&self, fd: c_int, callback: Option<Callback>, context: *mut c_void) {
        let registration = callback.map(|callback| Registration { fd, callback, context });
        *lock(&self.registration) = registration;
        if *lock(&self.runs_in) != Some(this_thread()) {
            drop(lock(&self.running));
        }
    }

    /// The function that the port calls for each message.
    pub(crate) fn handler(self: &Arc<Self>) -> impl FnMut(SocketAddr, &[u8]) + Send + 'static {
        let stun = Arc::clone(self);
        move |from, message| stun.deliver(from, message)
    }

    fn deliver(&self, from: SocketAddr, message: &[u8]) {
        let _running = lock(&self.running);
        let registration = *lock(&self.registration);
        let Some(Registration { fd, callback, context }) = registration else { return };
        let from = RawAddress::new(from);
        *lock(&self.runs_in) = Some(this_thread());
        // SAFETY: the caller of tou_set_stun_callback guarantees that the function and its context
        // are valid until the callback is removed, and removal waits for `running`.
        unsafe {
            callback(
                fd,
                message.as_ptr().cast(),
                message.len(),
                from.as_ptr(),
                from.len(),
                context,
            );
        }
        *lock(&self.runs_in) = None;
    }
}
