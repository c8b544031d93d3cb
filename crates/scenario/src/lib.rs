//! Scenario files: experiments in TOML or JSON, checked and resolved to the plain data that
//! `windlass-sim` runs.
//!
//! Each key is defined once, with the macros of `windlass-keys`; the reader, its error messages and the
//! JSON Schema ([`Registry::schema`]) derive from that. Every quantity carries its unit (`"94ms"`,
//! `"10Mbit/s"`, `"64KiB"`, `"50 packets"`, `"128 segments"`) unless its key names the unit.
//!
//! A [`Registry`] has kinds of your own. Its methods read scenarios that may name them.
//!
//! ```
//! let text = r#"
//!     schema = 1
//!     name = "one-flow"
//!     duration = "5s"
//!     flows = [{ from = "s1", controller = "cubic" }]
//!     [dumbbell]
//!     access = [{ delay = "1ms" }]
//!     bottleneck = { rate = "10Mbit/s", delay = "5ms" }
//! "#;
//! let document = windlass_scenario::from_toml("one-flow.toml", text, &[])?;
//! let summary = windlass_sim::run(&document.scenario, document.seed, &mut ())?;
//! assert!(summary.flows[0].packets_per_s.whole_run > 700.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod any_kind;
mod controllers;
mod data_file;
mod document;
mod inherit;
mod keys;
mod names;
mod outline;
mod queues;
mod registry;
mod resolve;
pub mod settings;
mod units;
mod upgrade;
mod version;

pub use document::{DEFAULT_SEED, Document, Origins, Source};
pub use queues::{QueueKind, QueueRef, Queues};
pub use registry::Registry;
pub use resolve::LinkOverTime;
pub use upgrade::upgrade;
pub use windlass_keys::{Problem, Problems};

use controllers::ControllerKind;
use keys::ScenarioKeys;
use registry::Context;
use std::path::Path;
use std::sync::Arc;
use windlass_keys::{Decode, Located, Node, Reader};
use windlass_tcp::Profile;
use windlass_tcp::cc::ControllerFactory;

/// Reads the TOML text of a scenario. Messages refer to the text as `origin`, usually its path, and the
/// paths of traces are relative to its directory. `overrides` are `key=value` arguments that replace
/// values of the text.
///
/// # Errors
///
/// All problems of the text and the overrides, with their locations.
pub fn from_toml(origin: &str, text: &str, overrides: &[String]) -> Result<Document, Problems> {
    Registry::default().read_toml(origin, text, overrides)
}

/// Reads what a direction of a link does over time, outside a scenario. Paths of traces are relative to
/// `directory`.
///
/// # Errors
///
/// All problems of the value.
pub fn link_over_time_from_json(
    origin: &str,
    directory: &Path,
    value: &serde_json::Value,
) -> Result<LinkOverTime, Problems> {
    let reader = Reader::new(origin, Registry::default()).in_directory(directory);
    reader.json(value, |root, context| context.table(root, None))
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
        Reader::new(origin, self.clone()).with_overrides(overrides).toml(text, read)
    }

    /// Reads a scenario from a JSON value, which has the keys of the TOML format but no line numbers.
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
        Reader::new(origin, self.clone()).with_overrides(overrides).json(value, read)
    }

    /// Reads a queue discipline and its settings outside a scenario, in the form of a link's key
    /// `queue`: the name of a kind, or an object with `kind`.
    ///
    /// # Errors
    ///
    /// All problems of the value.
    pub fn read_queue(
        &self,
        origin: &str,
        value: &serde_json::Value,
    ) -> Result<windlass_aqm::Config, Problems> {
        Reader::new(origin, self.clone()).json(value, |root, context| {
            let Located { value: kind, location } = Located::<QueueKind>::decode(root, context)?;
            Some(kind.config(&location, context))
        })
    }

    /// Reads a controller: a name, or a table with `kind` and its settings, as a flow of `profile` has it. A
    /// message refers to the value as `origin`.
    ///
    /// # Errors
    ///
    /// All problems of the value.
    pub fn read_controller(
        &self,
        origin: &str,
        value: &serde_json::Value,
        profile: Profile,
    ) -> Result<Arc<dyn ControllerFactory>, Problems> {
        Reader::new(origin, self.clone()).json(value, |root, context| {
            let chosen = Located::<ControllerKind>::decode(root, context)?;
            controllers::factory(Some(&chosen), profile, profile.cubic(), context)
        })
    }

    /// The JSON Schema (draft 2020-12) of a scenario, whether it is written as TOML or as JSON.
    pub fn schema(&self) -> serde_json::Value {
        windlass_keys::schema::<ScenarioKeys, _>("Windlass scenario", self.clone())
    }
}

fn read(root: &mut Node, context: &mut Context) -> Option<Document> {
    inherit::inherit_defaults(root, context.registry());
    version::name_profiles(root);
    let keys = context.root::<ScenarioKeys>(root)?;
    resolve::document(keys, context)
}

#[cfg(test)]
mod tests;
