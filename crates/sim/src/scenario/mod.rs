//! Scenario files: experiments in TOML or JSON, checked and resolved to plain data.
//!
//! Each key is defined once, in `keys/`; the reader, its error messages and the JSON Schema
//! ([`schema()`]) derive from that. Every quantity carries its unit (`"94ms"`,
//! `"10Mbit/s"`, `"64KiB"`, `"50 packets"`, `"128 segments"`) unless its key names the unit.

#[macro_use]
mod macros;

mod custom;
mod decode;
mod definitions;
mod describe;
mod inherit;
mod keys;
pub mod model;
mod overrides;
mod problem;
mod registry;
mod resolve;
mod schema;
pub mod settings;
mod trace_file;
mod tree;
mod units;

pub use model::{DEFAULT_SEED, Document, Scenario, Source};
pub use problem::{Problem, Problems};
pub use registry::Registry;
pub use schema::schema;
pub use units::{parse_rate, parse_size, parse_time};

use decode::{Context, Decode, Keys};
use std::path::Path;
use tree::Node;
use windlass_base::BitRate;

/// Reads the TOML text of a scenario. Messages refer to the text as `origin`, usually its path, and the
/// paths of traces are relative to its directory. `overrides` are `key=value` arguments that replace values of the text.
///
/// # Errors
///
/// All problems of the text and the overrides, with their locations.
pub fn from_toml(origin: &str, text: &str, overrides: &[String]) -> Result<Document, Problems> {
    read_toml(&Registry::default(), origin, text, overrides)
}

fn read_toml(
    registry: &Registry,
    origin: &str,
    text: &str,
    overrides: &[String],
) -> Result<Document, Problems> {
    let (root, diagnostics) = tree::parse_toml(text);
    if !diagnostics.is_empty() {
        return Err(Problems::new(origin, Some(text), overrides, diagnostics));
    }
    read(registry, origin, root, overrides)
        .map_err(|diagnostics| Problems::new(origin, Some(text), overrides, diagnostics))
}

/// Reads a scenario from a JSON value, which has the keys of the TOML format.
///
/// # Errors
///
/// All problems of the value and the overrides. JSON has no line numbers.
pub fn from_json(
    origin: &str,
    value: &serde_json::Value,
    overrides: &[String],
) -> Result<Document, Problems> {
    read_json(&Registry::default(), origin, value, overrides)
}

fn read_json(
    registry: &Registry,
    origin: &str,
    value: &serde_json::Value,
    overrides: &[String],
) -> Result<Document, Problems> {
    read(registry, origin, tree::from_json(value), overrides)
        .map_err(|diagnostics| Problems::new(origin, None, overrides, diagnostics))
}

/// Reads a queue discipline and its settings outside a scenario, in the form of a link's key `queue`:
/// the name of a kind, or an object with `kind`.
///
/// # Errors
///
/// All problems of the value.
pub fn queue_from_json(
    origin: &str,
    value: &serde_json::Value,
) -> Result<windlass_aqm::Config, Problems> {
    read_queue(&Registry::default(), origin, value)
}

fn read_queue(
    registry: &Registry,
    origin: &str,
    value: &serde_json::Value,
) -> Result<windlass_aqm::Config, Problems> {
    let mut context = Context::of_document(Vec::new(), registry.clone());
    match resolve::queue(&tree::from_json(value), &mut context) {
        Some(queue) if context.diagnostics.is_empty() => Ok(queue),
        _ => Err(Problems::new(origin, None, &[], context.diagnostics)),
    }
}

/// Reads what a direction of a link does over time, outside a scenario: an object with a link's keys
/// `rate`, `delay`, `shaper`, `policer`, `aggregation` and `outages`, each of which may be absent. Paths
/// of traces are relative to `directory`. Returns the rate (the mean, if it varies), the delay (the
/// least) and the rest.
///
/// # Errors
///
/// All problems of the value.
pub fn link_over_time_from_json(
    origin: &str,
    directory: &Path,
    value: &serde_json::Value,
) -> Result<(Option<BitRate>, windlass_base::Span, model::Variation), Problems> {
    let mut context = Context::default();
    context.directory = Some(directory.to_owned());
    match resolve::link_over_time(&tree::from_json(value), &mut context) {
        Some(link) if context.diagnostics.is_empty() => Ok(link),
        _ => Err(Problems::new(origin, None, &[], context.diagnostics)),
    }
}

impl Registry {
    /// [`from_toml`] with these kinds.
    ///
    /// # Errors
    ///
    /// All problems of the text and the overrides, with their locations.
    pub fn read_toml(
        &self,
        origin: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<Document, Problems> {
        read_toml(self, origin, text, overrides)
    }

    /// [`from_json`] with these kinds.
    ///
    /// # Errors
    ///
    /// All problems of the value and the overrides.
    pub fn read_json(
        &self,
        origin: &str,
        value: &serde_json::Value,
        overrides: &[String],
    ) -> Result<Document, Problems> {
        read_json(self, origin, value, overrides)
    }

    /// [`queue_from_json`] with these kinds.
    ///
    /// # Errors
    ///
    /// All problems of the value.
    pub fn read_queue(
        &self,
        origin: &str,
        value: &serde_json::Value,
    ) -> Result<windlass_aqm::Config, Problems> {
        read_queue(self, origin, value)
    }

    /// [`schema`](schema()) with these kinds.
    pub fn schema(&self) -> serde_json::Value {
        schema::of(self)
    }
}

fn read(
    registry: &Registry,
    origin: &str,
    mut root: Node,
    overrides: &[String],
) -> Result<Document, Vec<problem::Diagnostic>> {
    let mut context = Context::of_document(keys::ScenarioKeys::names(), registry.clone());
    context.directory = Path::new(origin).parent().map(Path::to_owned);
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
