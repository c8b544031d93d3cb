//! Ends a simulation early: on a signal that Python handles, or when another thread says so.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

create_exception!(_native, Stopped, PyException, "Another thread has stopped the simulation.");

/// Events between two looks at the clock: about a millisecond of work.
const EVENTS: u32 = 4096;
/// Time between two calls into Python.
const INTERVAL: Duration = Duration::from_millis(50);

/// Stops the simulations that have it: those of worker threads, to which Python delivers no signals.
#[pyclass(frozen, module = "windlass_lab._native")]
pub(crate) struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop(Arc::default())
    }

    /// Ends the simulations with `Stopped`, those that begin later too.
    fn set(&self) {
        self.0.store(true, Relaxed);
    }
}

/// Looks for a reason to end while a simulation runs.
pub(crate) struct Watch {
    /// `None`: signals are looked for, which only the main thread of Python gets.
    stop: Option<Arc<AtomicBool>>,
    events: u32,
    looked: Instant,
    reason: Option<PyErr>,
}

impl Watch {
    pub(crate) fn new(stop: Option<&Stop>) -> Watch {
        let stop = stop.map(|stop| Arc::clone(&stop.0));
        Watch { stop, events: 0, looked: Instant::now(), reason: None }
    }

    /// True if the simulation is to end. To be called after each event.
    #[inline]
    pub(crate) fn ends(&mut self) -> bool {
        self.events += 1;
        self.events >= EVENTS && self.look()
    }

    /// Whether the simulation was ended early.
    pub(crate) fn has_ended(&self) -> bool {
        self.reason.is_some()
    }

    /// Why the simulation ended early, if it did.
    pub(crate) fn into_result(self) -> PyResult<()> {
        self.reason.map_or(Ok(()), Err)
    }

    #[cold]
    fn look(&mut self) -> bool {
        self.events = 0;
        match &self.stop {
            Some(stop) if stop.load(Relaxed) => self.reason = Some(Stopped::new_err("stopped")),
            None if self.looked.elapsed() >= INTERVAL => {
                self.reason = Python::attach(|py| py.check_signals()).err();
                self.looked = Instant::now();
            }
            _ => {}
        }
        self.reason.is_some()
    }
}
