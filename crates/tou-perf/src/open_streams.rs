//! The open connections of a process that a signal may end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use windlass_tou::TouStream;

/// Connections to reset when the process is interrupted: no kernel does that for a user-space transport.
/// Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct OpenStreams(Arc<Mutex<Vec<TouStream>>>);

impl OpenStreams {
    /// Adds a connection.
    pub fn add(&self, stream: &TouStream) {
        self.lock().push(stream.clone());
    }

    /// Removes all connections from the list, because they have ended.
    pub fn clear(&self) {
        let streams = std::mem::take(&mut *self.lock());
        drop(streams);
    }

    /// True if the list has no connection.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Resets all connections of the list.
    pub fn abort(&self) {
        self.lock().iter().for_each(TouStream::abort);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TouStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
