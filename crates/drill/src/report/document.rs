//! The report as JSON.

use super::{Played, Report};
use crate::run::{Divergence, Entry, Line, Run, Side, Verdict};
use serde_json::{Value, json};

impl Report {
    /// The report as an object.
    pub fn document(&self) -> Value {
        let counts = self.counts();
        json!({
            "subject": self.subject,
            "passed": counts.passed,
            "failed": counts.failed,
            "skipped": counts.skipped,
            "invalid": counts.invalid,
            "scripts": self.scripts.iter().map(script).collect::<Vec<_>>(),
        })
    }
}

fn script(played: &Played) -> Value {
    let mut value = json!({
        "script": played.name,
        "verdict": played.verdict(),
        "reason": played.reason(),
    });
    match &played.run {
        Err(error) => {
            value["line"] = error.position.line.into();
            value["column"] = error.position.column.into();
        }
        Ok(run) => ran(run, &mut value),
    }
    value
}

fn ran(run: &Run, value: &mut Value) {
    value["elapsed_ns"] = run.elapsed.as_nanos().into();
    value["printed"] = json!(run.printed);
    if let Verdict::Failed(divergence) = &run.verdict {
        let Divergence { position, expected, actual, .. } = &**divergence;
        value["line"] = position.line.into();
        value["column"] = position.column.into();
        value["expected"] = expected.iter().map(line).collect();
        value["actual"] = actual.iter().map(line).collect();
        value["before"] = run.entries.iter().map(entry).collect();
        value["after"] = run.left.iter().map(entry).collect();
    }
}

fn line(line: &Line) -> Value {
    let at = Some(&line.at).filter(|at| !at.is_empty());
    json!({ "at": at, "text": line.text })
}

fn entry(entry: &Entry) -> Value {
    let side = match entry.side {
        Side::Inbound => "inbound",
        Side::Outbound => "outbound",
        Side::Program => "program",
        Side::Returned => "returned",
    };
    json!({ "at_ns": entry.at.as_nanos(), "side": side, "text": entry.text })
}
