//! Descriptor to socket. The only global state: tou_cleanup, or closing all of them, empties it.

use crate::errno::{Errno, Result};
use crate::socket::Socket;
use libc::c_int;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once, PoisonError, RwLock};
use std::time::Duration;

static SOCKETS: RwLock<BTreeMap<c_int, Arc<Socket>>> = RwLock::new(BTreeMap::new());
/// The process that has them; 0 before the first.
static OWNER: AtomicU32 = AtomicU32::new(0);
/// How long exit(3) waits for what was written and has not arrived.
const AT_EXIT: Duration = Duration::from_secs(5);

/// False in the child of a process that had sockets: the driver's thread is not there, and locks may
/// be held by threads that are not there.
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

/// As the system tells it.
fn nothing_at(fd: c_int) -> Errno {
    // SAFETY: it reads a flag of the process's table.
    let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
    Errno(if is_open { libc::ENOTSOCK } else { libc::EBADF })
}

/// Enters a socket; returns its descriptor.
pub(crate) fn insert(socket: Arc<Socket>) -> Result<c_int> {
    if !is_owner() {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    OWNER.store(process::id(), Ordering::Relaxed);
    deliver_at_exit();
    let fd = socket.number();
    let former = SOCKETS.write().unwrap_or_else(PoisonError::into_inner).insert(fd, socket);
    if let Some(former) = former {
        // Closed by close(2), otherwise the number would not be free.
        former.disown();
        former.close(false);
    }
    Ok(fd)
}

/// Takes a socket out.
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

/// Closes every socket and waits for what was written. True if all has arrived.
pub(crate) fn cleanup(timeout: Duration) -> bool {
    if !is_owner() {
        return true;
    }
    let sockets = std::mem::take(&mut *SOCKETS.write().unwrap_or_else(PoisonError::into_inner));
    for socket in sockets.into_values() {
        socket.close(false);
    }
    windlass_tou::drain(timeout)
}

/// A program that closes and returns has its data delivered, as with TCP, where the kernel does it.
fn deliver_at_exit() {
    extern "C" fn deliver() {
        let _ = catch_unwind(|| cleanup(AT_EXIT));
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function stays, since the library is never unloaded (build.rs). Without room
        // for it there is no delivery at exit.
        unsafe { libc::atexit(deliver) };
    });
}
