//! What libbpf says goes into the error that follows it, not to standard error.

use libbpf_rs::{PrintLevel, set_print};
use std::mem;
use std::sync::{Mutex, PoisonError};

static LOG: Mutex<String> = Mutex::new(String::new());

/// Gathers warnings from now on.
pub(crate) fn begin() {
    take();
    set_print(Some((PrintLevel::Warn, |_, message| {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).push_str(&message);
    })));
}

/// The warnings so far.
pub(crate) fn take() -> String {
    mem::take(&mut LOG.lock().unwrap_or_else(PoisonError::into_inner))
}
