//! Scenario files: what an experiment is, as TOML or JSON, checked and resolved to plain data.
//!
//! The keys that a file may have are defined once, in `keys/`: the reader, its error messages and
//! the JSON Schema ([`schema()`]) come from there. Every quantity carries its unit (`"94ms"`,
//! `"10Mbit/s"`, `"64KiB"`, `"50 packets"`, `"128 segments"`), but for those whose key names it.

#[macro_use]
mod macros;

mod decode;
mod definitions;
mod describe;
mod inherit;
mod keys;
pub mod model;
mod overrides;
mod problem;
mod resolve;
mod schema;
mod tree;
mod units;

pub use model::{DEFAULT_SEED, Document, Scenario, Source};
pub use problem::{Problem, Problems};
pub use schema::schema;
pub use units::{parse_rate, parse_size, parse_time};

use decode::{Context, Decode, Keys};
use tree::Node;

/// Reads the TOML text of a scenario. `origin` is what messages call it, its path as a rule;
/// `overrides` are `key=value` arguments that replace what the text says.
pub fn from_toml(origin: &str, text: &str, overrides: &[String]) -> Result<Document, Problems> {
    let (root, diagnostics) = tree::parse_toml(text);
    if !diagnostics.is_empty() {
        return Err(Problems::new(origin, Some(text), overrides, diagnostics));
    }
    read(root, overrides)
        .map_err(|diagnostics| Problems::new(origin, Some(text), overrides, diagnostics))
}

/// Reads the same document as a JSON value.
pub fn from_json(
    origin: &str,
    value: &serde_json::Value,
    overrides: &[String],
) -> Result<Document, Problems> {
    read(tree::from_json(value), overrides)
        .map_err(|diagnostics| Problems::new(origin, None, overrides, diagnostics))
}

/// Reads a queue discipline and its settings, as links have them under `queue`: the name of a kind,
/// or an object with `kind`. For those who have queues and no scenario.
pub fn queue_from_json(
    origin: &str,
    value: &serde_json::Value,
) -> Result<windlass_aqm::Config, Problems> {
    let mut context = Context::default();
    match resolve::queue(&tree::from_json(value), &mut context) {
        Some(queue) if context.diagnostics.is_empty() => Ok(queue),
        _ => Err(Problems::new(origin, None, &[], context.diagnostics)),
    }
}

fn read(mut root: Node, overrides: &[String]) -> Result<Document, Vec<problem::Diagnostic>> {
    let mut context = Context::of_document(keys::ScenarioKeys::names());
    overrides::apply(&mut root, overrides, &mut context);
    inherit::inherit_defaults(&mut root);
    let document = keys::ScenarioKeys::decode(&root, &mut context)
        .and_then(|keys| resolve::document(keys, &mut context));
    match document {
        Some(document) if context.diagnostics.is_empty() => Ok(document),
        _ => Err(context.into_diagnostics()),
    }
}

#[cfg(test)]
mod tests;
