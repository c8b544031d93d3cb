use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing is left half done where a panic could come, so a poisoned lock is as good as another.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
