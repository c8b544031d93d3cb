//! The configuration file of the commands that use sessions: docs/reference/tou-commands.md.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_base::paths::in_folder;
use windlass_base::suggest::did_you_mean;
use windlass_base::text_file;
use windlass_forward::protocol::is_service_name;
use windlass_forward::{ExitNetworks, Service};
use windlass_identity::PublicKey;
use windlass_tou::session::RendezvousAddress;

/// Largest accepted file in bytes.
const LEN_MAX: u64 = 1 << 20;

/// Settings of the configuration file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) via: Vec<RendezvousAddress>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) relay_only: bool,
    pub(crate) peers: BTreeMap<String, PublicKey>,
    pub(crate) allow: Vec<PublicKey>,
    pub(crate) services: Vec<Service>,
    pub(crate) exit: Vec<ExitNetworks>,
}

/// `tou.toml` in the folder of the default key's folder. `None` without a home directory.
pub(crate) fn default_path() -> Option<PathBuf> {
    let key = windlass_identity::default_path()?;
    Some(key.parent()?.parent()?.join("tou.toml"))
}

/// The configuration in `file`; without it, that of the default file, which need not exist.
pub(crate) fn read(file: Option<&Path>) -> Result<Config, String> {
    let default = default_path();
    let Some(path) = file.or(default.as_deref()) else { return Ok(Config::default()) };
    let failed = |error| format!("{}: {error}", path.display());
    match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && file.is_none() => {
            return Ok(Config::default());
        }
        Err(error) => return Err(failed(error)),
        Ok(metadata) if metadata.len() > LEN_MAX => {
            return Err(format!("{}: expected at most {LEN_MAX} bytes", path.display()));
        }
        Ok(_) => {}
    }
    let text = text_file::read(path).map_err(failed)?;
    parse(path, &text)
}

/// The key of a peer: a key, or a name among `peers`.
pub(crate) fn peer_key(
    text: &str,
    peers: &BTreeMap<String, PublicKey>,
) -> Result<PublicKey, String> {
    if let Some(key) = peers.get(text) {
        return Ok(*key);
    }
    text.parse().map_err(|error| {
        let near = did_you_mean(text, peers.keys());
        // So long a text is meant to be a key.
        if text.len() > PublicKey::TEXT_LEN / 2 {
            format!("{text}: {error}{near}")
        } else {
            format!("{text}: neither a public key nor a name in [peers]{near}")
        }
    })
}

/// Parses the text of the file `path`, in whose folder relative paths begin. An error has a line for
/// each mistake.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Config, String> {
    let name = &path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new(""));
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        Fault { span, key: String::new(), message: error.message().replace('\n', ", ") }
            .line(name, text)
    })?;
    let mut reader = Reader::default();
    let mut config = Config::default();
    let mut allow = Vec::new();
    for (key, value) in table.into_inner() {
        let place = key.span();
        match key.get_ref().as_ref() {
            "via" => config.via = reader.list("via", value),
            "allow" => allow = reader.texts("allow", value),
            "key" => config.key = reader.path("key", &value, folder),
            "relay_only" => config.relay_only = reader.flag("relay_only", &value),
            "peers" => config.peers = reader.peers(value),
            "expose" => reader.expose(value, &mut config),
            other => reader.unknown(other, place, "via, allow, key, relay_only, peers, expose"),
        }
    }
    // The names may stand below the list.
    for (text, span) in allow {
        match peer_key(&text, &config.peers) {
            Ok(key) => config.allow.push(key),
            Err(message) => reader.fault("allow", span, message),
        }
    }
    reader.faults.sort_by_key(|fault| fault.span.start);
    let lines: Vec<_> = reader.faults.iter().map(|fault| fault.line(name, text)).collect();
    if lines.is_empty() { Ok(config) } else { Err(lines.join("\n")) }
}

type Found<'a> = Spanned<DeValue<'a>>;

/// A mistake and its place.
#[derive(Debug)]
struct Fault {
    span: Range<usize>,
    key: String,
    message: String,
}

impl Fault {
    /// File, line, key, message.
    fn line(&self, name: &str, text: &str) -> String {
        let before = text.as_bytes().get(..self.span.start).unwrap_or(text.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        match self.key.is_empty() {
            true => format!("{name}:{line}: {}", self.message),
            false => format!("{name}:{line}: {}: {}", self.key, self.message),
        }
    }
}

/// Takes values and collects mistakes.
#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    fn fault(&mut self, key: &str, span: Range<usize>, message: impl Into<String>) {
        self.faults.push(Fault { span, key: key.to_owned(), message: message.into() });
    }

    fn unknown(&mut self, key: &str, span: Range<usize>, known: &str) {
        let near = did_you_mean(key, known.split(", "));
        self.fault(key, span, format!("unknown key, expected one of {known}{near}"));
    }

    fn text(&mut self, key: &str, value: &Found<'_>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.to_string());
        }
        self.fault(key, value.span(), "expected a text in quotes");
        None
    }

    fn path(&mut self, key: &str, value: &Found<'_>, folder: &Path) -> Option<PathBuf> {
        let path = in_folder(folder, &self.text(key, value)?);
        path.map_err(|message| self.fault(key, value.span(), message)).ok()
    }

    fn flag(&mut self, key: &str, value: &Found<'_>) -> bool {
        if let DeValue::Boolean(flag) = value.get_ref() {
            return *flag;
        }
        self.fault(key, value.span(), "expected true or false");
        false
    }

    fn texts(&mut self, key: &str, value: Found<'_>) -> Vec<(String, Range<usize>)> {
        let span = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            self.fault(key, span, "expected a list of texts");
            return Vec::new();
        };
        let one = |item: Found<'_>| Some((self.text(key, &item)?, item.span()));
        items.into_iter().filter_map(one).collect()
    }

    fn list<T: FromStr<Err: Display>>(&mut self, key: &str, value: Found<'_>) -> Vec<T> {
        let mut list = Vec::new();
        for (text, span) in self.texts(key, value) {
            match text.parse::<T>() {
                Ok(one) => list.push(one),
                Err(error) => self.fault(key, span, error.to_string()),
            }
        }
        list
    }

    /// The texts of a table.
    fn table(&mut self, key: &str, value: Found<'_>) -> Vec<(String, Range<usize>, String)> {
        let span = value.span();
        let DeValue::Table(table) = value.into_inner() else {
            self.fault(key, span, "expected a table");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (name, value) in table {
            let place = value.span();
            if let Some(text) = self.text(&format!("{key}.{}", name.get_ref()), &value) {
                texts.push((name.into_inner().into_owned(), place, text));
            }
        }
        texts
    }

    fn peers(&mut self, value: Found<'_>) -> BTreeMap<String, PublicKey> {
        let mut peers = BTreeMap::new();
        for (name, span, text) in self.table("peers", value) {
            match text.parse() {
                Ok(key) if is_service_name(&name) => drop(peers.insert(name, key)),
                Ok(_) => {
                    let message = "use letters, digits, '-', '_' and '.' for a name";
                    self.fault(&format!("peers.{name}"), span, message);
                }
                Err(error) => {
                    self.fault(&format!("peers.{name}"), span, format!("{text:?}: {error}"));
                }
            }
        }
        peers
    }

    fn expose(&mut self, value: Found<'_>, config: &mut Config) {
        let span = value.span();
        let DeValue::Table(table) = value.into_inner() else {
            return self.fault("expose", span, "expected a table");
        };
        for (key, value) in table {
            let place = key.span();
            match key.get_ref().as_ref() {
                "services" => config.services = self.services(value),
                "exit" => config.exit = self.list("expose.exit", value),
                other => self.unknown(other, place, "services, exit"),
            }
        }
    }

    fn services(&mut self, value: Found<'_>) -> Vec<Service> {
        let mut services = Vec::new();
        for (name, span, target) in self.table("expose.services", value) {
            match format!("{name}={target}").parse() {
                Ok(service) => services.push(service),
                Err(error) => {
                    let error: windlass_forward::ParseServiceError = error;
                    self.fault(&format!("expose.services.{name}"), span, error.to_string());
                }
            }
        }
        services
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq";

    #[test]
    fn a_file_with_everything() {
        let text = format!(
            "via = [\"rendezvous.example.org\", \"192.0.2.1:4000\"]\nallow = [\"laptop\"]\n\
             key = \"/etc/key\"\nrelay_only = true\n[peers]\nlaptop = \"{KEY}\"\n[expose]\n\
             services = {{ ssh = \"127.0.0.1:22\", web = \"80\" }}\nexit = [\"internet\"]\n"
        );
        let config = parse(Path::new("tou.toml"), &text).expect("valid");
        assert_eq!(config.via.len(), 2);
        assert_eq!(config.allow, [KEY.parse().expect("a key")]);
        assert_eq!(config.services[1].to_string(), "web=127.0.0.1:80");
        assert_eq!(config.exit, [ExitNetworks::Internet]);
        assert!(config.relay_only && config.key == Some("/etc/key".into()));
        assert_eq!(peer_key("laptop", &config.peers), Ok(config.allow[0]));
    }

    #[test]
    fn every_mistake_has_its_line_and_a_hint() {
        let text = format!(
            "vai = []\nallow = [\"labtop\"]\nrelay_only = 1\n\n[peers]\nlaptop = \"{KEY}\"\n\
             desk = \"abc\"\n[expose]\nservices = {{ ssh = \"22x\" }}\nexits = []\n"
        );
        let message = parse(Path::new("tou.toml"), &text).expect_err("mistakes");
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(lines.len(), 6, "{message}");
        assert!(
            lines[0].starts_with("tou.toml:1: vai: unknown key") && lines[0].contains("\"via\"")
        );
        assert!(lines[1].starts_with("tou.toml:2: allow: labtop: neither a public key nor a name"));
        assert!(lines[1].ends_with("did you mean \"laptop\"?"));
        assert_eq!(lines[2], "tou.toml:3: relay_only: expected true or false");
        assert!(lines[3].starts_with("tou.toml:7: peers.desk: \"abc\": a public key has 52"));
        assert!(lines[4].starts_with("tou.toml:9: expose.services.ssh: \"22x\": expected"));
        assert!(lines[5].starts_with("tou.toml:10: exits: unknown key"));
        let message = parse(Path::new("tou.toml"), "a = \n").expect_err("no TOML");
        assert!(message.starts_with("tou.toml:1: "), "{message}");
    }

    #[test]
    fn a_relative_key_file_stands_beside_the_configuration() {
        let key = |text: &str| {
            let config = parse(Path::new("/etc/windlass/tou.toml"), &format!("key = {text:?}\n"));
            config.map(|config| config.key.expect("a key"))
        };
        assert_eq!(key("host.key"), Ok("/etc/windlass/host.key".into()));
        let home = std::env::home_dir().expect("a home directory");
        assert_eq!(key("~/host.key"), Ok(home.join("host.key")));
        let error = key("~other/host.key").expect_err("another user's");
        assert!(error.starts_with("/etc/windlass/tou.toml:1: key: ~other/host.key: "), "{error}");
    }

    #[test]
    fn a_mistyped_key_is_distinguished_from_a_mistyped_name() {
        let error = peer_key(&KEY[1..], &BTreeMap::new()).expect_err("too short");
        assert!(error.contains("52 characters, this has 51"), "{error}");
    }
}
