//! Where a configuration comes from, so that it can be read again.

use super::{Config, Settings, read_file};
use std::path::PathBuf;

/// Options, which stay, and a file, which may change.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The settings of the command line.
    pub options: Settings,
    /// The file for the rest.
    pub file: Option<PathBuf>,
}

impl Source {
    /// The configuration as of now.
    ///
    /// # Errors
    ///
    /// The faults in words: one line for options, for a file a line for each.
    pub fn config(&self) -> Result<Config, String> {
        let file = match &self.file {
            Some(path) => read_file(path).map_err(|error| error.to_string())?,
            None => Settings::default(),
        };
        Config::new(self.options.clone().or(file))
    }
}

impl Config {
    /// The keys in which `new` differs and that are settled when the daemon starts.
    pub(crate) fn needs_restart(&self, new: &Config) -> Vec<&'static str> {
        let keys = [
            ("flows_max", self.flows_max != new.flows_max),
            ("handshakes_max", self.handshakes_max != new.handshakes_max),
            ("hosts_max", self.hosts_max != new.hosts_max),
            ("fallback", self.fallback != new.fallback),
            ("mark_bit", self.mark_bit != new.mark_bit),
            ("metrics", self.metrics != new.metrics),
            ("pin", self.pin != new.pin),
            ("socket", self.socket != new.socket),
            ("log", self.log != new.log),
            ("log_format", self.log_format != new.log_format),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }

    /// This with what of `new` can change while the daemon runs.
    pub(crate) fn with_changes(&self, new: Config) -> Config {
        let Config { client_side, network_side, policy, lists, timeouts, .. } = new;
        Config { client_side, network_side, policy, lists, timeouts, ..self.clone() }
    }
}
