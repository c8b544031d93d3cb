//! `windlass probe judge`: stored outcomes, judged again.

use super::args::Judge;
use crate::failure::Failure;
use crate::stdout;
use serde::Deserialize;
use std::path::Path;
use std::process::ExitCode;
use windlass_base::text_file;
use windlass_probe::cca::{self, Controller, Library, Trace};

const HEADER: [&str; 5] = ["file", "controller", "confidence", "marks", "nearest"];

/// The part of an outcome that a verdict on the controller rests on.
#[derive(Deserialize)]
struct Stored {
    kind: String,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    trace: Option<Trace>,
}

/// Runs `windlass probe judge`; returns the exit status.
pub(super) fn main(args: &Judge) -> Result<ExitCode, Failure> {
    let library = match &args.library {
        Some(file) => Library::read(&read(file)?).map_err(|error| input(file, error))?,
        None => Library::measured().map_err(|error| Failure::Work(error.to_string()))?,
    };
    let mut rows = Vec::new();
    for file in &args.files {
        let verdict = judge(file, &library)?;
        let name = file.display().to_string();
        if args.json {
            let line = serde_json::json!({ "file": name, "controller": verdict });
            stdout::line(&line.to_string())?;
        } else {
            rows.push(row(name, &verdict));
        }
    }
    if !args.json {
        stdout::line(&stdout::table(&HEADER, rows.into_iter()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn judge(file: &Path, library: &Library) -> Result<Controller, Failure> {
    let stored: Stored = serde_json::from_str(&read(file)?).map_err(|error| input(file, error))?;
    let traces: Vec<&Trace> = stored.runs.iter().filter_map(|run| run.trace.as_ref()).collect();
    cca::judge(&traces, library).filter(|_| stored.kind == "probe.server").ok_or_else(|| {
        input(file, "expected an outcome of `windlass probe --cca --json` with a trace")
    })
}

fn row(file: String, verdict: &Controller) -> Vec<String> {
    let marks = verdict.marks.map(|marks| marks.answer.name().to_owned());
    let nearest = verdict.identity.nearest.iter();
    let nearest = nearest.map(|near| format!("{} {:.3}", near.controller, near.distance));
    vec![
        file,
        verdict.names(),
        format!("{:.2}", verdict.identity.confidence),
        marks.unwrap_or("-".to_owned()),
        nearest.collect::<Vec<_>>().join(", "),
    ]
}

fn read(file: &Path) -> Result<String, Failure> {
    text_file::read(file).map_err(|error| input(file, error))
}

fn input(file: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("{}: {why}", file.display()))
}
