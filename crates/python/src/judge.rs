//! Judges a controller in Python by the clauses of RFCs and drafts, for `windlass_lab.judge`.

use crate::controller::PythonFactory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;
use windlass_base::Time;
use windlass_base::suggest::did_you_mean;
use windlass_judge::suites::{self, SUITES, Suite};
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
    let mut verdicts = Vec::new();
    for (suite, case) in chosen(&subject, &suites).map_err(PyValueError::new_err)? {
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

type Chosen = Vec<(&'static Suite, &'static Case)>;

fn chosen(subject: &PythonSubject, names: &[String]) -> Result<Chosen, String> {
    let mut chosen = Vec::new();
    if names.is_empty() {
        for suite in SUITES.iter().copied() {
            chosen.extend(suite.concerning(subject).map(|case| (suite, case)));
        }
    }
    for name in names {
        let Some(suite) = suites::by_name(name) else {
            let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            let expected = format!("expected one of {}", known.join(", "));
            return Err(format!("suite {name:?}: {expected}{}", did_you_mean(name, &known)));
        };
        chosen.extend(suite.cases.iter().map(|case| (suite, case)));
    }
    Ok(chosen)
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
