//! Tells a function of Python how far a simulation is.

use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Parts of a run after which the function may be called.
const PARTS: u64 = 200;
/// The least time between two calls.
const INTERVAL: Duration = Duration::from_millis(100);

/// Calls a function of Python, or nothing.
pub(crate) struct Progress {
    function: Option<Py<PyAny>>,
    called: Instant,
}

impl Progress {
    pub(crate) fn new(function: Option<Py<PyAny>>) -> Progress {
        Progress { function, called: Instant::now() }
    }

    /// The number of parts in which a run is to be simulated.
    pub(crate) fn parts(&self) -> u64 {
        if self.function.is_some() { PARTS } else { 1 }
    }

    /// Says that so much of a run is simulated, at most ten times a second. Returns the exception of the
    /// function, if it raises one.
    pub(crate) fn say(&mut self, parts: u64) -> PyResult<()> {
        let Some(function) = &self.function else {
            return Ok(());
        };
        if self.called.elapsed() < INTERVAL {
            return Ok(());
        }
        self.called = Instant::now();
        Python::attach(|py| function.call1(py, (parts as f64 / PARTS as f64,)).map(drop))
    }
}
