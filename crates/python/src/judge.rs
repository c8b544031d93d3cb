//! Judges a controller in Python by the clauses of RFCs and drafts, for `windlass_lab.judge`.

use crate::controller::PythonFactory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use windlass_base::Time;
use windlass_judge::report::{Chosen, choose};
use windlass_judge::suites::{self, Suite};
use windlass_judge::{Case, Engine, Sender, Setup, Subject};
use windlass_tcp::Profile;

/// The verdict of each case, as JSON. `concerns` is the name of a controller, whose cases are those of this
/// one too. Without `suites` every case that concerns it is judged, otherwise all of these suites.
///
/// # Errors
///
/// An unknown suite, or what the controller raises.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    class: &Bound<'_, PyAny>,
    name: &str,
    concerns: &str,
    suites: Vec<String>,
) -> PyResult<String> {
    let factory = PythonFactory::new(class)?;
    let (name, concerns) = (name.to_owned(), concerns.to_owned());
    // The options of the RFCs, not Linux's, which deviate on purpose in places.
    let engine = Engine::new(Arc::new(factory.clone())).with_profile(Profile::Rfc5681);
    let subject = PythonSubject { engine, name, concerns };
    let parse = |name: &String| {
        suites::parse(name).map_err(|why| PyValueError::new_err(format!("suite {name:?}: {why}")))
    };
    let suites = suites.iter().map(parse).collect::<PyResult<Vec<_>>>()?;
    let mut verdicts = Vec::new();
    for Chosen { suite, case } in choose(&suites, Some(&subject.concerns), None) {
        verdicts.push(verdict(suite, case, &subject));
        if let Some(raised) = factory.take_raised() {
            return Err(raised);
        }
        py.check_signals()?;
    }
    Ok(Value::from(verdicts).to_string())
}

/// A controller in Python on the engine, with its own name.
#[derive(Debug)]
struct PythonSubject {
    engine: Engine,
    name: String,
    concerns: String,
}

impl Subject for PythonSubject {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn controller(&self) -> String {
        self.concerns.clone()
    }

    fn open(&self, setup: &Setup, now: Time) -> Result<Box<dyn Sender>, String> {
        self.engine.open(setup, now)
    }
}

fn verdict(suite: &Suite, case: &Case, subject: &PythonSubject) -> Value {
    let outcome = case.judge(subject).outcome;
    json!({
        "suite": suite.name,
        "case": case.name,
        "document": case.clause.document,
        "section": case.clause.section,
        "level": case.clause.level.name(),
        "demanded": case.demanded,
        "outcome": outcome.name(),
        "reason": outcome.reason(),
    })
}
