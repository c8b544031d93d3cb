//! The descriptors that a script's calls opened.

use crate::call::Fd;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The descriptors, shared by the thread that calls and the one that waits. Both number them as the kernel does.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(Arc<Mutex<BTreeMap<i32, Arc<OwnedFd>>>>);

impl Files {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<OwnedFd>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a descriptor; returns its number.
    pub(super) fn insert(&self, file: OwnedFd) -> i64 {
        let number = file.as_raw_fd();
        self.lock().insert(number, Arc::new(file));
        number.into()
    }

    /// An open descriptor of the script's, or EBADF.
    pub(super) fn get(&self, fd: Fd) -> Result<Arc<OwnedFd>, i32> {
        self.lock().get(&fd.0).cloned().ok_or(libc::EBADF)
    }

    /// Takes a descriptor out, to close it.
    pub(super) fn remove(&self, fd: Fd) -> Result<OwnedFd, i32> {
        let file = self.lock().remove(&fd.0).ok_or(libc::EBADF)?;
        Arc::try_unwrap(file).map_err(|_| libc::EBUSY)
    }

    /// Ends a call that blocks on one of the sockets.
    pub(super) fn interrupt(&self) {
        for file in self.lock().values() {
            let _ = super::sys::shutdown(file.as_raw_fd(), libc::SHUT_RDWR);
        }
    }

    /// Closes all, and connections by a reset: one that ends in order would keep its namespace for minutes.
    pub(super) fn close(&self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        for (_, file) in std::mem::take(&mut *self.lock()) {
            let _ = setsockopt(&file, sockopt::Linger, &linger);
        }
    }
}
