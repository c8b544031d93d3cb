//! The native half of the Python package `windlass_lab`: the simulator, and its time series as Arrow.
//!
//! The Python half documents these functions and gives their types (`lab/src/windlass_lab/_native.pyi`).

mod environments;
mod table;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use table::Table;
use windlass_sim::scenario::{self, Document};
use windlass_sim::series::columns::ColumnSeries;
use windlass_sim::{Recorder, Simulation};

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::environments::Environments;
    #[pymodule_export]
    use super::simulate;
    #[pymodule_export]
    use super::table::Table;
}

/// Runs a scenario and returns its summary as JSON, and its time series: those of flows first, with
/// `series` "flows" these alone, with "none" no series.
#[pyfunction]
fn simulate(
    py: Python<'_>,
    origin: &str,
    text: &str,
    overrides: Vec<String>,
    seed: Option<u64>,
    jitter: Option<&str>,
    series: &str,
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
    let mut document = read(origin, text, &overrides).map_err(PyValueError::new_err)?;
    document.seed = seed.unwrap_or(document.seed);
    if let Some(jitter) = jitter {
        document.scenario.jitter = scenario::parse_time(jitter)
            .map_err(|error| PyValueError::new_err(format!("jitter: {error}")))?;
    }
    // Other threads of Python run meanwhile.
    py.detach(|| run(origin, &document, queues)).map_err(PyValueError::new_err)
}

/// Reads TOML, or JSON if the text begins with a brace.
fn read(origin: &str, text: &str, overrides: &[String]) -> Result<Document, String> {
    let document = if text.trim_start().starts_with('{') {
        let json = serde_json::from_str(text).map_err(|error| format!("{origin}: {error}"))?;
        scenario::from_json(origin, &json, overrides)
    } else {
        scenario::from_toml(origin, text, overrides)
    };
    document.map_err(|problems| problems.to_string())
}

/// Runs once, with the series of flows, of `queues` too, or without any.
fn run(
    origin: &str,
    document: &Document,
    queues: Option<bool>,
) -> Result<(String, Vec<Table>), String> {
    let Some(queues) = queues else {
        return Ok((summary(origin, document, &mut ())?, Vec::new()));
    };
    let mut series = ColumnSeries::in_memory(&document.scenario, queues);
    let summary = summary(origin, document, &mut series)?;
    Ok((summary, series.into_tables().into_iter().map(Table::new).collect()))
}

fn summary(
    origin: &str,
    document: &Document,
    recorder: &mut impl Recorder,
) -> Result<String, String> {
    let simulation = Simulation::new(&document.scenario, document.seed)
        .map_err(|error| format!("{origin}: {error}"))?;
    let summary = simulation.run(recorder);
    serde_json::to_string(&summary).map_err(|error| error.to_string())
}
