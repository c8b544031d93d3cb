//! Maps descriptors to sockets. This is the library's only global state.

use crate::errno::{Errno, Result};
use crate::socket::{Phase, Socket};
use libc::c_int;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once, PoisonError, RwLock};
use std::time::Duration;

static SOCKETS: RwLock<BTreeMap<c_int, Arc<Socket>>> = RwLock::new(BTreeMap::new());
/// The id of the process that owns the sockets; 0 before the first socket.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// How long exit(3) waits for the delivery of written data.
const AT_EXIT: Duration = Duration::from_secs(5);

/// False in a child process made by fork(2). The child has no I/O thread, and threads that do not
/// exist in it may hold locks.
fn is_owner() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner == 0 || owner == process::id()
}

/// The socket of a descriptor.
pub(crate) fn get(fd: c_int) -> Result<Arc<Socket>> {
    if !is_owner() {
        return Err(Errno(libc::EBADF));
    }
    let found = SOCKETS.read().unwrap_or_else(PoisonError::into_inner).get(&fd).cloned();
    found.ok_or_else(|| nothing_at(fd))
}

/// The errno for a descriptor without a socket: EBADF if it is closed, else ENOTSOCK.
fn nothing_at(fd: c_int) -> Errno {
    // SAFETY: F_GETFD only reads a flag.
    let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
    Errno(if is_open { libc::ENOTSOCK } else { libc::EBADF })
}

/// Adds a socket and returns its descriptor.
pub(crate) fn insert(socket: Arc<Socket>) -> Result<c_int> {
    if !is_owner() {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    OWNER.store(process::id(), Ordering::Relaxed);
    deliver_at_exit();
    let fd = socket.fd();
    let former = SOCKETS.write().unwrap_or_else(PoisonError::into_inner).insert(fd, socket);
    if let Some(former) = former {
        // The program has closed it by close(2), otherwise the number would not be free.
        former.forget();
        former.close(false);
    }
    Ok(fd)
}

/// Removes a socket.
pub(crate) fn remove(fd: c_int) -> Result<Arc<Socket>> {
    if !is_owner() {
        return Err(Errno(libc::EBADF));
    }
    let found = SOCKETS.write().unwrap_or_else(PoisonError::into_inner).remove(&fd);
    found.ok_or_else(|| nothing_at(fd))
}

pub(crate) fn all() -> Vec<Arc<Socket>> {
    if !is_owner() {
        return Vec::new();
    }
    SOCKETS.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// Closes all sockets and waits for the delivery of written data. True if all was acknowledged.
pub(crate) fn cleanup(timeout: Duration) -> bool {
    if !is_owner() {
        return true;
    }
    let sockets = std::mem::take(&mut *SOCKETS.write().unwrap_or_else(PoisonError::into_inner));
    // A node's connections end with it, so it goes last.
    let (nodes, others): (Vec<_>, Vec<_>) =
        sockets.into_values().partition(|socket| matches!(socket.phase(), Phase::Node(_)));
    others.iter().for_each(|socket| socket.close(false));
    let delivered = windlass_tou::drain(timeout);
    nodes.iter().for_each(|socket| socket.close(false));
    delivered
}

/// Delivers pending data at exit(3). For TCP the kernel does this.
fn deliver_at_exit() {
    extern "C" fn deliver() {
        let _ = catch_unwind(|| cleanup(AT_EXIT));
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the library is never unloaded (build.rs), so the function stays valid. If
        // registration fails, there is no delivery at exit.
        unsafe { libc::atexit(deliver) };
    });
}
