//! Ctrl-C: what is half done is removed, and the exit status is 130.

use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

static ENDING: AtomicBool = AtomicBool::new(false);
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);
/// Gives the terminal back, once a live view has taken it.
static RESTORE: OnceLock<fn()> = OnceLock::new();

/// From now on Ctrl-C (or a request to terminate) removes the temporary directory, if there is
/// one, and ends the process with status 130.
pub(crate) fn watch() {
    // It can only fail if there is a handler already, which does the same.
    let _ = ctrlc::set_handler(|| {
        restore_terminal();
        let temporary = lock();
        if let Some(path) = temporary.as_deref() {
            remove(path);
        }
        crate::failure::error("interrupted");
        std::process::exit(130);
    });
}

/// From now on the first Ctrl-C (or SIGTERM) sets the flag, so that the caller can end its work in order;
/// the second ends the process with status 130.
#[cfg(target_os = "linux")]
pub(crate) fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    flag
}

/// From now on the first Ctrl-C (or request to terminate) calls `end`, so that the caller can end its work
/// in order; the second ends the process with status 130.
pub(crate) fn first(end: impl FnOnce() + Send + 'static) {
    let mut end = Some(end);
    let _ = ctrlc::set_handler(move || match end.take() {
        Some(end) => end(),
        None => std::process::exit(130),
    });
}

/// From now on Ctrl-C (or a request to terminate) calls `end` and ends the process with the status that
/// it returns.
pub(crate) fn end_with(mut end: impl FnMut() -> i32 + Send + 'static) {
    let _ = ctrlc::set_handler(move || {
        ENDING.store(true, Ordering::Relaxed);
        restore_terminal();
        std::process::exit(end());
    });
}

/// To be called before the process ends by itself: while [`end_with`] runs, the exit status is that of
/// the interrupt, not of an operation that the interrupt made fail.
pub(crate) fn give_way() {
    while ENDING.load(Ordering::Relaxed) {
        std::thread::park();
    }
}

/// Names the directory to remove on Ctrl-C.
pub(crate) fn set_temporary(path: Option<&Path>) {
    *lock() = path.map(Path::to_owned);
}

/// From now on an interrupt calls `restore` before it prints anything. It gives the terminal back.
#[cfg(feature = "live")]
pub(crate) fn restore_with(restore: fn()) {
    // All views share the terminal and the function.
    let _ = RESTORE.set(restore);
}

fn restore_terminal() {
    if let Some(restore) = RESTORE.get() {
        restore();
    }
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a directory into which other threads may still be writing: a file made while the
/// directory is being emptied makes one attempt fail.
fn remove(path: &Path) {
    for _ in 0..100 {
        if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
            return;
        }
    }
}
