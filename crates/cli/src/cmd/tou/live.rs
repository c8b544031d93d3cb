//! The connections under way, for the moment when Ctrl-C ends them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use windlass_tou::TouStream;

/// Connections to reset when the process is interrupted: no kernel does that for a user-space transport.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenStreams(Arc<Mutex<Vec<TouStream>>>);

impl OpenStreams {
    pub(super) fn add(&self, stream: &TouStream) {
        self.lock().push(stream.clone());
    }

    /// Forgets all of them: they have ended.
    pub(super) fn clear(&self) {
        let streams = std::mem::take(&mut *self.lock());
        drop(streams);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Resets all of them.
    pub(super) fn abort(&self) {
        self.lock().iter().for_each(TouStream::abort);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TouStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
