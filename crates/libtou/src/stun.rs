//! The callback for STUN messages. Once it was taken away it does not run any more.

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
struct Listener {
    fd: c_int,
    callback: Callback,
    context: *mut c_void,
}

// SAFETY: tou.h says that the callback runs in another thread; the context is its own matter.
unsafe impl Send for Listener {}

/// Not the standard library's, which exit(3) has torn down when it closes sockets.
fn this_thread() -> libc::pthread_t {
    // SAFETY: it has no conditions.
    unsafe { libc::pthread_self() }
}

/// Whom a port's STUN messages go to.
#[derive(Debug, Default)]
pub(crate) struct Stun {
    listener: Mutex<Option<Listener>>,
    /// Held while the callback runs.
    running: Mutex<()>,
    runs_in: Mutex<Option<libc::pthread_t>>,
}

impl Stun {
    /// Another callback, or none. The one before is not running any more when this returns, unless it
    /// is the caller.
    pub(crate) fn set(&self, fd: c_int, callback: Option<Callback>, context: *mut c_void) {
        let listener = callback.map(|callback| Listener { fd, callback, context });
        *lock(&self.listener) = listener;
        if *lock(&self.runs_in) != Some(this_thread()) {
            drop(lock(&self.running));
        }
    }

    /// What the port calls.
    pub(crate) fn sink(self: &Arc<Self>) -> impl FnMut(SocketAddr, &[u8]) + Send + 'static {
        let stun = Arc::clone(self);
        move |from, message| stun.tell(from, message)
    }

    fn tell(&self, from: SocketAddr, message: &[u8]) {
        let _running = lock(&self.running);
        let listener = *lock(&self.listener);
        let Some(Listener { fd, callback, context }) = listener else { return };
        let from = RawAddress::new(from);
        *lock(&self.runs_in) = Some(this_thread());
        // SAFETY: tou_set_stun_callback's caller vouches for the function and its context, until
        // the function was taken away, which waits for `running`.
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
