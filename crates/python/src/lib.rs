//! The native half of the Python package `windlass_lab`: the simulator, its time series as Arrow, and the judge
//! of controllers in Python.
//!
//! The Python half documents these functions and gives their types (`lab/src/windlass_lab/_native.pyi`).

mod controller;
mod environments;
mod interrupt;
mod judge;
mod progress;
mod table;

use interrupt::{Stop, Watch};
use progress::Progress;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use table::Table;
use windlass_base::{Span, Time};
use windlass_scenario::{Document, Registry};
use windlass_sim::series::columns::ColumnSeries;
use windlass_sim::{Recorder, Scenario, Simulation, Summary};

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::check;
    #[pymodule_export]
    use super::controller::{PyAck, PyCongestion, PyParams};
    #[pymodule_export]
    use super::environments::Environments;
    #[pymodule_export]
    use super::interrupt::{Stop, Stopped};
    #[pymodule_export]
    use super::judge::judge;
    #[pymodule_export]
    use super::outline;
    #[pymodule_export]
    use super::simulate;
    #[pymodule_export]
    use super::table::Table;
}

/// Runs a scenario and returns its summary as JSON, and its time series: those of flows first, with
/// `series` "flows" these alone, with "none" no series. `progress` is called with the fraction of the
/// duration that is simulated.
#[pyfunction]
#[pyo3(signature = (origin, text, overrides, seed, jitter, series, stop, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
fn simulate(
    py: Python<'_>,
    origin: &str,
    text: &str,
    overrides: Vec<String>,
    seed: Option<u64>,
    jitter: Option<&str>,
    series: &str,
    stop: Option<&Stop>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Vec<Table>)> {
    let queues = match series {
        "none" => None,
        "flows" => Some(false),
        "all" => Some(true),
        _ => {
            let expected = r#"expected "none", "flows" or "all""#;
            return Err(PyValueError::new_err(format!("series={series:?}: {expected}")));
        }
    };
    let mut document = read(origin, text, &overrides, jitter).map_err(PyValueError::new_err)?;
    document.seed = seed.unwrap_or(document.seed);
    let observers = Observers { watch: Watch::new(stop), progress: Progress::new(progress) };
    // Other threads of Python run meanwhile.
    py.detach(|| run(origin, &document, queues, observers))
}

/// Builds the network of a scenario, and returns the summary of a run that ends before it begins.
#[pyfunction]
fn check(
    origin: &str,
    text: &str,
    overrides: Vec<String>,
    jitter: Option<&str>,
) -> PyResult<String> {
    let document = read(origin, text, &overrides, jitter).map_err(PyValueError::new_err)?;
    json(&build(origin, &document)?.finish(&mut ()))
}

/// A scenario as JSON, checked and with its shorthands resolved, for programs that run it elsewhere.
#[pyfunction]
fn outline(origin: &str, text: &str, overrides: Vec<String>) -> PyResult<String> {
    let registry = Registry::default();
    let found = match json_of(origin, text) {
        None => registry.outline_toml(origin, text, &overrides),
        Some(value) => {
            registry.outline_json(origin, &value.map_err(PyValueError::new_err)?, &overrides)
        }
    };
    let outline = found.map_err(|problems| PyValueError::new_err(problems.to_string()))?;
    Ok(outline.to_string())
}

/// Reads TOML, or JSON if the text begins with a brace. A jitter replaces that of the scenario.
fn read(
    origin: &str,
    text: &str,
    overrides: &[String],
    jitter: Option<&str>,
) -> Result<Document, String> {
    let document = match json_of(origin, text) {
        Some(json) => Registry::default().read_json(origin, &json?, overrides),
        None => windlass_scenario::from_toml(origin, text, overrides),
    };
    let mut document = document.map_err(|problems| problems.to_string())?;
    if let Some(jitter) = jitter {
        document.scenario.jitter =
            windlass_keys::parse_time(jitter).map_err(|error| format!("jitter: {error}"))?;
    }
    Ok(document)
}

/// Ends a run early, and tells how far it is.
struct Observers {
    watch: Watch,
    progress: Progress,
}

/// The value of a text that begins with a brace, as TOML never does; `None` for another.
fn json_of(origin: &str, text: &str) -> Option<Result<serde_json::Value, String>> {
    let is_json = text.trim_start().starts_with('{');
    is_json.then(|| serde_json::from_str(text).map_err(|error| format!("{origin}: {error}")))
}

/// Runs once, with the series of flows, of `queues` too, or without any.
fn run(
    origin: &str,
    document: &Document,
    queues: Option<bool>,
    observers: Observers,
) -> PyResult<(String, Vec<Table>)> {
    let Some(queues) = queues else {
        return Ok((summary(origin, document, &mut (), observers)?, Vec::new()));
    };
    let mut series = ColumnSeries::in_memory(&document.scenario, queues);
    let summary = summary(origin, document, &mut series, observers)?;
    Ok((summary, series.into_tables().into_iter().map(Table::new).collect()))
}

fn summary(
    origin: &str,
    document: &Document,
    recorder: &mut impl Recorder,
    Observers { mut watch, mut progress }: Observers,
) -> PyResult<String> {
    let mut simulation = build(origin, document)?;
    let parts = progress.parts();
    let part = Span::from_nanos(document.scenario.duration.as_nanos() / parts);
    for done in 1..parts {
        simulation.advance(Time::ZERO + part * done, recorder, || watch.ends());
        if watch.has_ended() || simulation.is_over() {
            break;
        }
        progress.say(done)?;
    }
    if !watch.has_ended() {
        simulation.advance(Time::MAX, recorder, || watch.ends());
    }
    watch.into_result()?;
    json(&simulation.finish(recorder))
}

fn build<'a>(origin: &str, document: &'a Document) -> PyResult<Simulation<&'a Scenario>> {
    Simulation::new(&document.scenario, document.seed)
        .map_err(|error| PyValueError::new_err(format!("{origin}: {error}")))
}

fn json(summary: &Summary) -> PyResult<String> {
    serde_json::to_string(summary).map_err(|error| PyValueError::new_err(error.to_string()))
}
