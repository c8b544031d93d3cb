//! The general and special settings of RFC 9743 (sections 6 and 7): their paths, from the files in `settings`.

use crate::error::Error;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The files in the order of the document.
const FILES: [(&str, &str); 15] = [
    ("tail_drop", include_str!("../settings/tail_drop.toml")),
    ("tunnel", include_str!("../settings/tunnel.toml")),
    ("wired", include_str!("../settings/wired.toml")),
    ("wireless", include_str!("../settings/wireless.toml")),
    ("active_queues", include_str!("../settings/active_queues.toml")),
    ("circuit_breakers", include_str!("../settings/circuit_breakers.toml")),
    ("varying_delay", include_str!("../settings/varying_delay.toml")),
    ("constrained", include_str!("../settings/constrained.toml")),
    ("high_delay", include_str!("../settings/high_delay.toml")),
    ("misbehaving", include_str!("../settings/misbehaving.toml")),
    ("reordering", include_str!("../settings/reordering.toml")),
    ("transient", include_str!("../settings/transient.toml")),
    ("path_change", include_str!("../settings/path_change.toml")),
    ("multipath", include_str!("../settings/multipath.toml")),
    ("data_centre", include_str!("../settings/data_centre.toml")),
];

/// A setting of RFC 9743.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its name for options: that of its file, with hyphens.
    #[serde(skip)]
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Its section of RFC 9743.
    pub section: String,
    /// Why it cannot be tested here; without paths then.
    pub untestable: Option<String>,
    /// The paths that stand for it.
    #[serde(default)]
    pub paths: Vec<Path>,
}

/// A path that stands for a setting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Its name, which no other path has.
    pub name: String,
    /// A description in a phrase.
    pub about: String,
    /// The rate in Mbit/s that traffic is scaled to: the mean, where it changes.
    pub rate_mbit: f64,
    /// The round-trip time in milliseconds, the least where it changes.
    pub rtt_ms: f64,
    /// Length of a run in simulated seconds.
    pub duration_s: f64,
    /// The tables of a scenario: the bottleneck of a dumbbell, its queue, sources and defaults.
    pub scenario: String,
    /// Keys of the subject's flows alone.
    #[serde(default)]
    pub subject: String,
    /// Criteria that this path cannot test, with the reason of each.
    #[serde(default)]
    pub untestable: BTreeMap<String, String>,
}

impl Path {
    /// Packets of 1500 bytes in flight that fill the path without a queue.
    pub(crate) fn bdp_packets(&self) -> f64 {
        self.bytes_per_s() * self.rtt_ms / 1e3 / 1500.0
    }

    /// The rate in bytes per second.
    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.rate_mbit * 1e6 / 8.0
    }
}

/// All settings in the order of the document.
pub(crate) fn read() -> Result<Vec<Setting>, Error> {
    let setting = |(file, text): (&str, &str)| {
        let setting: Setting = toml::from_str(text)
            .map_err(|error| Error::Data(format!("settings/{file}.toml"), error.to_string()))?;
        Ok(Setting { name: file.replace('_', "-"), ..setting })
    };
    FILES.into_iter().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn four_general_and_eleven_special_settings_have_paths_of_different_names() {
        let settings = read().expect("valid");
        let general = settings.iter().filter(|setting| setting.section.starts_with("6."));
        assert_eq!((general.count(), settings.len()), (4, 15));
        let paths: Vec<&Path> = settings.iter().flat_map(|setting| &setting.paths).collect();
        let names: BTreeSet<&str> = paths.iter().map(|path| path.name.as_str()).collect();
        assert_eq!(names.len(), paths.len());
        for setting in &settings {
            assert_eq!(setting.untestable.is_some(), setting.paths.is_empty(), "{}", setting.name);
        }
    }
}
