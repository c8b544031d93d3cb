//! Scenario files: what an experiment is, as TOML or JSON, checked and resolved to plain data.
//!
//! The keys that a file may have are defined once, in `keys/`: the reader, its error messages and
//! the JSON Schema ([`schema()`]) come from there. Every quantity carries its unit (`"94ms"`,
//! `"10Mbit/s"`, `"64KiB"`, `"50 packets"`, `"128 segments"`), but for those whose key names it.

#[macro_use]
mod macros;

mod decode;
mod document;
mod inherit;
mod keys;
pub mod model;
mod overrides;
mod problem;
mod resolve;
mod schema;
mod units;

pub use model::Scenario;
pub use problem::{Problem, Problems};
pub use schema::schema;
pub use units::{parse_rate, parse_size, parse_time};

use decode::{Context, Decode};
use document::Node;

/// The seed of a scenario that names none.
pub const DEFAULT_SEED: u64 = 1;

/// A scenario and what its file says beside it.
#[derive(Clone, Debug)]
pub struct Document {
    /// The experiment.
    pub scenario: Scenario,
    /// The seed to run it with, unless the user gives another.
    pub seed: u64,
    /// Where the experiment comes from, if the file says so.
    pub source: Option<Source>,
}

/// Where an experiment comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Author, title, year.
    pub paper: String,
    /// Section of the paper.
    pub section: Option<String>,
    /// Table of the paper.
    pub table: Option<String>,
    /// Figure of the paper.
    pub figure: Option<String>,
    /// What to know about it.
    pub note: Option<String>,
}

/// Reads the TOML text of a scenario. `origin` is what messages call it, its path as a rule;
/// `overrides` are `key=value` arguments that replace what the text says.
pub fn from_toml(origin: &str, text: &str, overrides: &[String]) -> Result<Document, Problems> {
    let (root, faults) = document::parse_toml(text);
    if !faults.is_empty() {
        return Err(Problems::new(origin, Some(text), overrides, faults));
    }
    read(root, overrides).map_err(|faults| Problems::new(origin, Some(text), overrides, faults))
}

/// Reads the same document as a JSON value.
pub fn from_json(
    origin: &str,
    value: &serde_json::Value,
    overrides: &[String],
) -> Result<Document, Problems> {
    read(document::from_json(value), overrides)
        .map_err(|faults| Problems::new(origin, None, overrides, faults))
}

/// Reads a queue discipline and its settings, as links have them under `queue`: the name of a kind,
/// or an object with `kind`. For those who have queues and no scenario.
pub fn queue_from_json(
    origin: &str,
    value: &serde_json::Value,
) -> Result<windlass_aqm::Config, Problems> {
    let mut context = Context::default();
    match resolve::queue(&document::from_json(value), &mut context) {
        Some(queue) if context.faults.is_empty() => Ok(queue),
        _ => Err(Problems::new(origin, None, &[], context.faults)),
    }
}

fn read(mut root: Node, overrides: &[String]) -> Result<Document, Vec<problem::Fault>> {
    let mut context = Context::default();
    overrides::apply(&mut root, overrides, &mut context);
    inherit::inherit_defaults(&mut root);
    let document = keys::ScenarioKeys::decode(&root, &mut context)
        .and_then(|keys| resolve::document(keys, &mut context));
    match document {
        Some(document) if context.faults.is_empty() => Ok(document),
        _ => Err(context.faults),
    }
}

#[cfg(test)]
mod tests;
