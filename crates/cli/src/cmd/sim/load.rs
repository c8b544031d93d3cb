//! Scenarios from files.

use crate::failure::plain;
use crate::registry::registry;
use std::io::Read;
use std::path::Path;
use windlass_base::text_file;
use windlass_scenario::Document;
use windlass_sim::Simulation;

/// The scenario of a file, or of standard input for `-`, with `overrides` applied. It can be run: its
/// network has been built once.
///
/// # Errors
///
/// The problems, one per line.
pub(super) fn file(path: &Path, overrides: &[String]) -> Result<Document, String> {
    let origin = path.display().to_string();
    let read = match path == Path::new("-") {
        true => standard_input(),
        false => text_file::read(path),
    };
    let origin = if path == Path::new("-") { "standard input".to_owned() } else { origin };
    let text = read.map_err(|error| plain(&format!("{origin}: cannot read: {error}")))?;
    let named_json = path.extension().is_some_and(|extension| extension == "json");
    let document = if named_json || text.trim_start().starts_with('{') {
        let json = json(&text).map_err(|message| format!("{origin}:{message}"))?;
        registry().read_json(&origin, &json, overrides)
    } else {
        registry().read_toml(&origin, &text, overrides)
    };
    buildable(&origin, document.map_err(|problems| problems.to_string())?)
}

fn standard_input() -> std::io::Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    text_file::decode(bytes)
}

/// A JSON text, or `LINE:COLUMN: what is wrong`.
pub(super) fn json(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        format!("{}:{}: {message}", error.line(), error.column())
    })
}

/// Sentences about flows of the scenario whose controller waits for a signal that cannot come.
pub(super) fn warnings(document: &Document) -> Vec<String> {
    let built = Simulation::new(&document.scenario, document.seed);
    built.map_or_else(|_| vec![], |simulation| simulation.warnings())
}

/// Checks that the simulator takes the scenario.
pub(super) fn buildable(origin: &str, document: Document) -> Result<Document, String> {
    match Simulation::new(&document.scenario, document.seed) {
        Ok(_) => Ok(document),
        Err(error) => Err(format!("{origin}: {error}")),
    }
}
