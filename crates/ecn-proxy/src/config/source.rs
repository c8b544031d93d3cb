//! Where a configuration comes from, so that it can be read again.

use super::Config;
use super::keys::ConfigKeys;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::{fmt, io};
use windlass_base::text_file;
use windlass_keys::{Message, Problems, Reader};

/// Largest accepted file in bytes, more than full lists need.
const LEN_MAX: u64 = 1 << 20;

/// Options, which stay, and a file, which may change.
#[derive(Clone, Debug)]
pub struct Source {
    pub(super) options: ConfigKeys,
    pub(crate) file: Option<PathBuf>,
}

impl Source {
    /// `options` is an object with keys of the file. Null and an empty list stand for an option that
    /// was not given. `file` has the other keys.
    ///
    /// # Errors
    ///
    /// The options have an unknown key or an invalid value.
    pub fn new(mut options: serde_json::Value, file: Option<PathBuf>) -> Result<Source, Problems> {
        if let Some(keys) = options.as_object_mut() {
            keys.retain(|_, value| !value.is_null() && *value != json!([]));
            keys.insert("schema".to_owned(), json!(1));
        }
        let options = Reader::new("", ()).json(&options, |root, context| context.root(root))?;
        Ok(Source { options, file })
    }

    /// The interfaces that face served hosts, as of now; `None` where the configuration has a mistake.
    pub fn client_side(&self) -> Option<Vec<String>> {
        Some(self.config().ok()?.client_side)
    }

    /// The place of mistakes that concern all keys together.
    pub(crate) fn place(&self) -> String {
        self.file.as_ref().map_or_else(|| "options".to_owned(), |path| path.display().to_string())
    }

    /// The configuration as of now.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let file = match &self.file {
            Some(path) => read_file(path)?,
            // Options win over themselves.
            None => self.options.clone(),
        };
        Config::new(self.options.clone(), file).map_err(ConfigError::Whole)
    }
}

/// Why there is no configuration.
#[derive(Debug)]
pub(crate) enum ConfigError {
    /// The file could not be read.
    Io(PathBuf, io::Error),
    /// The mistakes of the file, in its order.
    File(Problems),
    /// The keys of the options and the file do not fit together.
    Whole(Message),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            ConfigError::File(problems) => problems.fmt(f),
            ConfigError::Whole(message) => message.fmt(f),
        }
    }
}

fn read_file(path: &Path) -> Result<ConfigKeys, ConfigError> {
    let text = text_file::read_at_most(path, LEN_MAX)
        .map_err(|error| ConfigError::Io(path.to_owned(), error))?;
    read_text(&path.display().to_string(), &text).map_err(ConfigError::File)
}

/// Parses the text of a file; `name` is the file name for messages. Relative paths begin where it is.
pub(super) fn read_text(name: &str, text: &str) -> Result<ConfigKeys, Problems> {
    Reader::new(name, ()).toml(text, |root, context| context.root(root))
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
        let Config { client_side, network_side, policy, lists, timeouts, leases, .. } = new;
        Config { client_side, network_side, policy, lists, timeouts, leases, ..self.clone() }
    }
}
