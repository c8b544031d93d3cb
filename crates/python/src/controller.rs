//! A congestion controller that is an object of Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyAnyMethods;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use windlass_tcp::cc::{self, CongestionCause, ControllerFactory};

/// The parameters of a connection, for the constructor of a controller.
#[pyclass(frozen, get_all, name = "Params")]
pub(crate) struct PyParams {
    mss: u32,
    initial_window: u64,
    initial_ssthresh: f64,
    least_window: u64,
    abe: bool,
}

/// An acknowledgment of new data.
#[pyclass(frozen, get_all, name = "Ack")]
pub(crate) struct PyAck {
    now: f64,
    bytes_acked: u64,
    credit: u64,
    rtt: Option<f64>,
    smoothed_rtt: f64,
    min_rtt: Option<f64>,
    in_flight: u64,
    acked_total: u64,
    sent_total: u64,
}

/// A signal of congestion.
#[pyclass(frozen, get_all, name = "Congestion")]
pub(crate) struct PyCongestion {
    now: f64,
    cause: &'static str,
    window: f64,
    hold_ssthresh: bool,
    smoothed_rtt: f64,
}

impl From<&cc::Ack> for PyAck {
    fn from(ack: &cc::Ack) -> PyAck {
        PyAck {
            now: ack.now.as_nanos() as f64 / 1e9,
            bytes_acked: ack.bytes_acked,
            credit: ack.credit,
            rtt: ack.rtt.map(|rtt| rtt.as_secs_f64()),
            smoothed_rtt: ack.smoothed_rtt.as_secs_f64(),
            min_rtt: ack.min_rtt.map(|rtt| rtt.as_secs_f64()),
            in_flight: ack.in_flight,
            acked_total: ack.acked_total,
            sent_total: ack.sent_total,
        }
    }
}

impl From<&cc::Congestion> for PyCongestion {
    fn from(congestion: &cc::Congestion) -> PyCongestion {
        PyCongestion {
            now: congestion.now.as_nanos() as f64 / 1e9,
            cause: match congestion.cause {
                CongestionCause::FastRetransmit => "loss",
                CongestionCause::Timeout => "timeout",
                CongestionCause::Ecn => "ecn",
            },
            window: congestion.window,
            hold_ssthresh: congestion.hold_ssthresh,
            smoothed_rtt: congestion.smoothed_rtt.as_secs_f64(),
        }
    }
}

/// Makes objects of a class of Python. The engine cannot fail, so what Python raises is kept.
#[derive(Clone)]
pub(crate) struct PythonFactory {
    class: Arc<Py<PyAny>>,
    paces: bool,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl fmt::Debug for PythonFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonFactory").field("paces", &self.paces).finish_non_exhaustive()
    }
}

impl PythonFactory {
    /// The class, whose attribute `paces` says whether its connections pace.
    ///
    /// # Errors
    ///
    /// The exception that Python raises.
    pub(crate) fn new(class: &Bound<'_, PyAny>) -> PyResult<PythonFactory> {
        let paces = class.getattr_opt("paces")?.map_or(Ok(false), |paces| paces.is_truthy())?;
        let class = Arc::new(class.clone().unbind());
        Ok(PythonFactory { class, paces, raised: Arc::default() })
    }

    /// The first exception since the last call.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl ControllerFactory for PythonFactory {
    fn name(&self) -> &'static str {
        "python"
    }

    fn paces(&self) -> bool {
        self.paces
    }

    fn build(&self, params: &cc::Params) -> Box<dyn cc::Controller> {
        let object = Python::attach(|py| {
            let params = PyParams {
                mss: params.mss,
                initial_window: params.initial_window,
                initial_ssthresh: match params.initial_ssthresh {
                    u64::MAX => f64::INFINITY,
                    bytes => bytes as f64,
                },
                least_window: params.least_window,
                abe: params.abe,
            };
            self.class.bind(py).call1((params,)).map(Bound::unbind)
        });
        let object = object.map_err(|error| self.note(error)).ok();
        let mss = f64::from(params.mss);
        let mut controller = PythonController {
            factory: self.clone(),
            object,
            mss,
            cwnd: mss,
            ssthresh: u64::MAX,
            pacing_rate: None,
        };
        controller.update(|_| Ok(()));
        Box::new(controller)
    }
}

/// The object, and its attributes as they were after its last method.
#[derive(Debug)]
struct PythonController {
    factory: PythonFactory,
    /// `None` once it has raised something: the window stays then.
    object: Option<Py<PyAny>>,
    mss: f64,
    cwnd: f64,
    ssthresh: u64,
    pacing_rate: Option<u64>,
}

impl PythonController {
    /// Calls a method, and reads the attributes.
    fn update(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(object) = self.object.take() else { return };
        let done = Python::attach(|py| {
            let object = object.bind(py);
            call(object)?;
            self.read(object)
        });
        match done {
            Ok(()) => self.object = Some(object),
            Err(error) => self.factory.note(error),
        }
    }

    fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let cwnd: f64 = object.getattr("cwnd")?.extract()?;
        if !cwnd.is_finite() {
            let message = format!("cwnd: expected a number of bytes, found {cwnd}");
            return Err(PyValueError::new_err(message));
        }
        // The engine sends no fraction of a segment.
        self.cwnd = cwnd.max(self.mss);
        let ssthresh: f64 = object.getattr("ssthresh")?.extract()?;
        self.ssthresh = if ssthresh.is_finite() { ssthresh as u64 } else { u64::MAX };
        let rate: Option<f64> = object.getattr("pacing_rate")?.extract()?;
        self.pacing_rate = rate.map(|bytes_per_s| bytes_per_s as u64);
        Ok(())
    }
}

impl cc::Controller for PythonController {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }

    fn on_ack(&mut self, ack: &cc::Ack) {
        self.update(|object| object.call_method1("on_ack", (PyAck::from(ack),)).map(drop));
    }

    fn limit_growth(&mut self, max_flight: u64) {
        self.update(|object| object.call_method1("limit_growth", (max_flight,)).map(drop));
    }

    fn on_congestion(&mut self, congestion: &cc::Congestion) {
        let signal = PyCongestion::from(congestion);
        self.update(|object| object.call_method1("on_congestion", (signal,)).map(drop));
    }

    fn on_idle_restart(&mut self, restart: u64) {
        self.update(|object| object.call_method1("on_idle_restart", (restart,)).map(drop));
    }

    fn on_mss_change(&mut self, mss: u32) {
        self.mss = f64::from(mss);
        self.update(|object| object.call_method1("on_mss_change", (mss,)).map(drop));
    }

    fn snapshot(&self) -> Option<Box<dyn cc::Controller>> {
        let object = self.object.as_ref()?;
        let copy = Python::attach(|py| {
            let copy = py.import("copy")?;
            copy.call_method1("deepcopy", (object.bind(py),)).map(Bound::unbind)
        });
        let object = Some(copy.map_err(|error| self.factory.note(error)).ok()?);
        let factory = self.factory.clone();
        Some(Box::new(PythonController { factory, object, ..*self }))
    }
}
