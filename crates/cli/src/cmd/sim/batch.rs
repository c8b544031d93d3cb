//! `windlass sim batch`: scenarios as JSON lines in, results as JSON lines out.

use super::args::Batch;
use super::load;
use crate::envelope;
use crate::failure::Failure;
use crate::registry::registry;
use crate::{interrupt, parallel, stdout};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use windlass_base::text_file;
use windlass_scenario::Document;
use windlass_sim::Summary;

/// Runs every line.
pub(super) fn main(args: &Batch) -> Result<(), Failure> {
    let input = open(&args.file)?;
    interrupt::watch();
    let mut end = Ok(());
    let mut bad_lines = 0;
    // Empty lines do not count as work, but as lines.
    let lines = (1u64..)
        .zip(input.split(b'\n'))
        .filter(|(_, line)| !matches!(line, Ok(bytes) if bytes.trim_ascii().is_empty()));
    parallel::map_in_order(
        lines,
        parallel::jobs(args.jobs),
        |(number, line)| line.map(|bytes| result_of(number, &bytes)),
        |line| {
            end =
                line.map_err(|error| Failure::io(args.file.display(), &error)).and_then(|result| {
                    bad_lines += u64::from(result.is_err());
                    let failed = |body| envelope::Document::new("sim.batch-error", body).line();
                    stdout::line(&result.map_or_else(failed, |summary| envelope::line(&summary)))
                });
            if end.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    end?;
    match bad_lines {
        0 => Ok(()),
        1 => Err(Failure::Input("one line was bad; its result says why".into())),
        n => Err(Failure::Input(format!("{n} lines were bad; their results say why"))),
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(BufReader::new(file))),
        Err(error) => Err(Failure::Input(format!("{}: cannot read: {error}", path.display()))),
    }
}

/// The summary that a line asks for with the `id` and `set` of its request, or what is wrong with the
/// line.
fn result_of(number: u64, bytes: &[u8]) -> Result<Value, Value> {
    let fault = |id: Option<&Value>, error: String| match id {
        Some(id) => json!({ "line": number, "id": id, "error": error }),
        None => json!({ "line": number, "error": error }),
    };
    let value = parsed(bytes).map_err(|error| fault(None, error))?;
    let request = value.get("file").is_some();
    let echoed = |key: &str| value.get(key).filter(|_| request).cloned();
    let mut summary = summary_of(number, &value)
        .map_err(|error| fault(echoed("id").as_ref(), error))
        .map(|summary| json!(summary))?;
    for key in ["id", "set"] {
        if let (Some(value), Some(summary)) = (echoed(key), summary.as_object_mut()) {
            summary.insert(key.to_owned(), value);
        }
    }
    Ok(summary)
}

fn parsed(bytes: &[u8]) -> Result<Value, String> {
    let bytes = text_file::without_mark(bytes);
    let text = str::from_utf8(bytes).map_err(|_| "not a text in UTF-8")?;
    load::json(text).map_err(|error| match error.split_once(':') {
        Some((_, column_and_message)) => format!("not JSON: column {column_and_message}"),
        None => format!("not JSON: {error}"),
    })
}

fn summary_of(number: u64, value: &Value) -> Result<Summary, String> {
    let document = match value.get("file") {
        Some(_) => request(value)?,
        None => {
            let origin = format!("line {number}");
            let document = registry().read_json(&origin, value, &[]).map_err(|e| e.to_string())?;
            load::buildable(&origin, document)?
        }
    };
    windlass_sim::run_unrecorded(&document.scenario, document.seed)
        .map_err(|error| error.to_string())
}

/// The scenario of `{"file", "set", "seed", "jitter", "id"}`.
fn request(value: &Value) -> Result<Document, String> {
    const KEYS: [&str; 5] = ["file", "set", "seed", "jitter", "id"];
    let none = Map::new();
    let keys = value.as_object().unwrap_or(&none);
    if let Some(key) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("{key}: unknown key; a request has {}", KEYS.join(", ")));
    }
    let file = keys.get("file").and_then(Value::as_str).ok_or("file: expected a path")?;
    let mut document = load::file(Path::new(file), &overrides(keys.get("set"))?)?;
    if let Some(seed) = keys.get("seed") {
        document.seed = seed.as_u64().ok_or("seed: expected a whole number, not negative")?;
    }
    if let Some(jitter) = keys.get("jitter") {
        let time = jitter.as_str().ok_or("jitter: expected a time such as \"100ms\"")?;
        document.scenario.jitter =
            windlass_keys::parse_time(time).map_err(|error| format!("jitter: {error}"))?;
    }
    Ok(document)
}

fn overrides(set: Option<&Value>) -> Result<Vec<String>, String> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let keys = set.as_object().ok_or("set: expected an object of keys and values")?;
    keys.iter().map(|(key, value)| Ok(format!("{key}={}", toml(value)?))).collect()
}

/// A JSON value as TOML: but for tables and null the two write it alike.
fn toml(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::Null => return Err("set: null is not a value".into()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Result<Vec<_>, _>>()?.join(", "))
        }
        Value::Object(keys) => {
            let entry = |(key, value): (&String, &Value)| {
                Ok(format!("{} = {}", Value::from(key.as_str()), toml(value)?))
            };
            let entries = keys.iter().map(entry).collect::<Result<Vec<_>, String>>()?;
            format!("{{{}}}", entries.join(", "))
        }
    })
}
