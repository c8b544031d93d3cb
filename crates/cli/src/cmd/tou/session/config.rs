//! The configuration file of the commands that use sessions: docs/reference/tou-commands.md.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use windlass_base::suggest::did_you_mean;
use windlass_base::text_file;
use windlass_forward::protocol::is_service_name;
use windlass_forward::{ExitNetworks, Service};
use windlass_identity::PublicKey;
use windlass_keys::{
    Context, Decode, Definitions, FilePath, Located, Named, Node, Problems, Reader, keys, text,
};
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

keys! {
    /// Settings of the commands that use sessions.
    struct ConfigKeys {
        /// Rendezvous servers, each a host with or without a port. The first that answers is used.
        via: Vec<Via>,
        /// Hosts that may open sessions: public keys, or names of `peers`.
        allow: Vec<Located<String>>,
        /// File of this host's key. Default: the one that windlass tou key makes.
        key: Option<FilePath>,
        /// Use relays alone. Default: false.
        relay_only: Option<bool>,
        /// Names of other hosts, with their public keys.
        peers: Option<Peers>,
        /// Services of this host.
        expose: Option<ExposeKeys>,
    }
}

keys! {
    /// Services of this host, for others.
    struct ExposeKeys {
        /// Services by their names: a port of this host, or an address with a port.
        services: Option<Services>,
        /// Networks to which other hosts may connect through this one.
        exit: Vec<Exit>,
    }
}

text! {
    /// A rendezvous server.
    struct Via(RendezvousAddress) as "the address of a rendezvous server, in quotes" =
        parsed;
}

text! {
    /// The public key of a host.
    struct Key(PublicKey) as "a public key, in quotes" = parse_key;
}

text! {
    /// Networks behind this host.
    struct Exit(ExitNetworks) as "the networks of an exit, in quotes" = parsed;
}

/// The table `peers`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers(BTreeMap<String, PublicKey>);

impl<R> Decode<R> for Peers {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let Named(named) = Named::<Key>::decode(node, context)?;
        let mut peers = BTreeMap::new();
        for (name, Located { value: Key(key), location }) in named {
            if !is_service_name(&name) {
                let message = "use letters, digits, '-', '_' and '.' for a name";
                context.wrong_at(&location, message.into());
            }
            peers.insert(name, key);
        }
        Some(Peers(peers))
    }

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        Named::<Key>::schema(definitions)
    }
}

/// The table `services`.
#[derive(Clone, Debug)]
pub(crate) struct Services(Vec<Service>);

impl<R> Decode<R> for Services {
    const EXPECTED: &'static str = "a table";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let Named(named) = Named::<String>::decode(node, context)?;
        let mut services = Vec::new();
        for (name, Located { value: target, location }) in named {
            match format!("{name}={target}").parse::<Service>() {
                Ok(service) => services.push(service),
                Err(error) => context.wrong_at(&location, error.to_string()),
            }
        }
        Some(Services(services))
    }

    fn schema(definitions: &mut Definitions<R>) -> serde_json::Value {
        Named::<String>::schema(definitions)
    }
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn parse_key(text: &str) -> Result<PublicKey, String> {
    text.parse().map_err(|error| format!("{text:?}: {error}"))
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
    match text_file::read_at_most(path, LEN_MAX) {
        Ok(text) => parse(path, &text).map_err(|problems| problems.to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound && file.is_none() => {
            Ok(Config::default())
        }
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// The JSON Schema of the file.
pub(crate) fn schema() -> serde_json::Value {
    windlass_keys::schema::<ConfigKeys, _>("Windlass ToU sessions, version 1", ())
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

/// Parses the text of the file `path`, in whose folder relative paths begin.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Config, Problems> {
    let origin = path.display().to_string();
    Reader::new(&origin, ()).toml(text, |root, context| {
        let keys: ConfigKeys = context.root(root)?;
        let Peers(peers) = keys.peers.unwrap_or_default();
        // The names may stand below the list.
        let allow = keys.allow.iter().filter_map(|Located { value, location }| {
            peer_key(value, &peers).map_err(|message| context.wrong_at(location, message)).ok()
        });
        let allow = allow.collect();
        let (services, exit) = match keys.expose {
            Some(ExposeKeys { services, exit }) => (services, exit),
            None => (None, Vec::new()),
        };
        Some(Config {
            via: keys.via.into_iter().map(|via| via.0).collect(),
            key: keys.key.map(|key| key.0),
            relay_only: keys.relay_only.unwrap_or(false),
            peers,
            allow,
            services: services.map_or(Vec::new(), |services| services.0),
            exit: exit.into_iter().map(|exit| exit.0).collect(),
        })
    })
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
        let message = parse(Path::new("tou.toml"), &text).expect_err("mistakes").to_string();
        let lines: Vec<_> = message.lines().collect();
        assert_eq!(lines.len(), 5, "{message}");
        assert_eq!(lines[0], "tou.toml:1:1: vai: unknown key; did you mean \"via\"?");
        let found = "expected true or false, found the bare number 1";
        assert_eq!(lines[1], format!("tou.toml:3:14: relay_only: {found}"));
        assert!(lines[2].starts_with("tou.toml:7:8: peers.desk: \"abc\": a public key has 52"));
        let service = "tou.toml:9:20: expose.services.ssh: \"22x\": expected";
        assert!(lines[3].starts_with(service), "{message}");
        assert!(lines[4].starts_with("tou.toml:10:1: expose.exits: unknown key"));
        let message = parse(Path::new("tou.toml"), "a = \n").expect_err("no TOML").to_string();
        assert!(message.starts_with("tou.toml:1:"), "{message}");
    }

    #[test]
    fn a_host_to_allow_is_a_key_or_a_name_of_the_peers() {
        let text = format!("allow = [\"labtop\"]\n[peers]\nlaptop = \"{KEY}\"\n");
        let message = parse(Path::new("tou.toml"), &text).expect_err("a mistake").to_string();
        let unknown = "tou.toml:1:10: allow.0: labtop: neither a public key nor a name";
        assert!(message.starts_with(unknown), "{message}");
        assert!(message.ends_with("did you mean \"laptop\"?"), "{message}");
        let text = format!("[peers]\n\"a b\" = \"{KEY}\"\n");
        let message = parse(Path::new("tou.toml"), &text).expect_err("a mistake").to_string();
        assert!(message.starts_with("tou.toml:2:9: peers.a b: use letters, digits"), "{message}");
    }

    #[test]
    fn the_schema_knows_every_key() {
        let schema = schema();
        let keys = schema["$defs"]["Config"]["properties"].as_object().expect("a table");
        let names: Vec<&str> = keys.keys().map(String::as_str).collect();
        for name in ["via", "allow", "key", "relay_only", "peers", "expose"] {
            assert!(names.contains(&name), "{name}");
        }
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
        let error = key("~other/host.key").expect_err("another user's").to_string();
        assert!(error.starts_with("/etc/windlass/tou.toml:1:7: key: ~other/host.key: "), "{error}");
    }

    #[test]
    fn a_mistyped_key_is_distinguished_from_a_mistyped_name() {
        let error = peer_key(&KEY[1..], &BTreeMap::new()).expect_err("too short");
        assert!(error.contains("52 characters, this has 51"), "{error}");
    }
}
