//! The TOML file of the configuration. The error lists every mistake with its line and key.

use super::value::{self, POLICIES};
use super::{LogFormat, PIN_FOLDER, Pin, Ports, Settings};
use crate::datapath::Policy;
use ipnet::IpNet;
use serde_json::json;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use windlass_base::text_file;
use windlass_keys::{
    Context, Decode, Definitions, FilePath, Node, Problems, Reader, Value, Version, bounded, keys,
    text, words,
};

/// Largest accepted file in bytes, more than full lists need.
const LEN_MAX: u64 = 1 << 20;

/// The file could not be read, or contains mistakes.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The file could not be read.
    Io(PathBuf, io::Error),
    /// The mistakes, in the order of the file.
    Faults(Problems),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            FileError::Faults(problems) => problems.fmt(f),
        }
    }
}

impl std::error::Error for FileError {}

keys! {
    /// The configuration of the ECN proxy. Options of the command line win.
    struct FileKeys {
        /// Version of the format: 1.
        schema: Version,
        /// Interfaces that face the served hosts.
        client_side: Option<Vec<Interface>>,
        /// Interfaces that face the network, of a machine that serves itself.
        network_side: Option<Vec<Interface>>,
        /// How the proxy signals a mark to a served sender. Default: virtual-loss.
        policy: Option<PolicyName>,
        /// A SYN that is sent again goes without ECN. Default: true.
        fallback: Option<bool>,
        /// Serve only these addresses. Default: all.
        allow: Option<Vec<Prefix>>,
        /// Do not serve these addresses. Default: none.
        deny: Option<Vec<Prefix>>,
        /// Serve only connections to these ports. Default: all.
        ports: Option<Vec<PortRange>>,
        /// Do not serve connections to these ports. Default: none.
        deny_ports: Option<Vec<PortRange>>,
        /// Connections that need work, at once.
        flows_max: Option<TableSize>,
        /// Handshakes at once.
        handshakes_max: Option<TableSize>,
        /// Far hosts remembered.
        hosts_max: Option<TableSize>,
        /// When an open connection without packets is forgotten, from 1s to a year.
        idle_timeout: Option<Timeout>,
        /// When a closing connection without packets is forgotten, from 1s to a year.
        closing_timeout: Option<Timeout>,
        /// The bit of the packet mark that guards the proxy's own clones.
        mark_bit: Option<MarkBit>,
        /// Where to serve metrics: an address and a port. Default: nowhere.
        metrics: Option<Metrics>,
        /// Keep programs and tables when the daemon ends: true, or a folder of /sys/fs/bpf. Default: false.
        pin: Option<Pin>,
        /// Where the daemon is asked.
        socket: Option<FilePath>,
        /// The directives that select log events, in the syntax of RUST_LOG. Default: info.
        log: Option<Log>,
        /// How the log is written. Default: text.
        log_format: Option<LogFormatKeys>,
    }
}

text! {
    /// An interface.
    struct Interface(String) as "the name of an interface, in quotes" = value::parse_interface;
}

text! {
    /// An address or a prefix.
    struct Prefix(IpNet) as "a prefix such as 192.168.0.0/16 or fd00::/8, in quotes" =
        value::parse_prefix;
}

text! {
    /// A time.
    struct Timeout(Duration) as "a time such as \"90s\", \"10m\" or \"2h\", from 1s to a year" =
        value::parse_timeout;
}

text! {
    /// The address of the metrics.
    struct Metrics(SocketAddr) as "an address and a port such as \"127.0.0.1:9617\"" =
        value::parse_metrics;
}

text! {
    /// Directives of the log.
    struct Log(String) as "a level of the log or directives, in quotes" = value::parse_log;
}

bounded! {
    /// The number of entries of a table.
    pub(crate) struct TableSize(u32) in 1..=i64::from(value::SIZE_MAX),
        "a whole number from 1 to 67108864";
}

bounded! {
    /// A bit of the packet mark.
    pub(crate) struct MarkBit(u8) in 0..=31, "a bit of the packet mark, 0 to 31";
}

words! {
    /// How the log is written.
    enum LogFormatKeys as "a format of the log" {
        /// A line of text for each event.
        Text = "text",
        /// A JSON object a line.
        Json = "json",
    }
}

/// The name of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyName(Policy);

impl<R> Decode<R> for PolicyName {
    const EXPECTED: &'static str = "a policy";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let word = context.word(node, "a policy", &POLICIES.map(|(name, _)| name))?;
        Some(PolicyName(POLICIES[word].1))
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "enum": POLICIES.map(|(name, _)| name) })
    }
}

/// Ports; a single one may stand without quotes.
#[derive(Clone, Debug)]
pub(crate) struct PortRange(Ports);

impl<R> Decode<R> for PortRange {
    const EXPECTED: &'static str = "a port such as 443, or a range such as \"8000-8999\"";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let ports = match &node.value {
            Value::Integer(port) => value::parse_ports(&port.to_string()),
            Value::Text(ports) => value::parse_ports(ports),
            _ => return context.unexpected::<Self, _>(node),
        };
        ports.map_err(|message| context.wrong(node.position, message)).ok().map(PortRange)
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": ["integer", "string"] })
    }
}

impl<R> Decode<R> for Pin {
    const EXPECTED: &'static str = "true, false or the path of a folder";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        match &node.value {
            Value::Bool(pin) => Some(Pin(pin.then(|| PIN_FOLDER.into()))),
            Value::Text(folder) if folder.starts_with('/') => Some(Pin(Some(folder.into()))),
            _ => context.unexpected::<Self, _>(node),
        }
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "type": ["boolean", "string"] })
    }
}

/// Reads and checks a configuration file.
///
/// # Errors
/// The file cannot be read, is not TOML, or has an unknown key or an invalid value.
pub fn read_file(path: &Path) -> Result<Settings, FileError> {
    let text = text_file::read_at_most(path, LEN_MAX)
        .map_err(|error| FileError::Io(path.to_owned(), error))?;
    read_text(&path.display().to_string(), &text)
}

/// Parses the text of a file; `name` is the file name for messages. Relative paths begin where it is.
///
/// # Errors
///
/// As [`read_file`].
pub fn read_text(name: &str, text: &str) -> Result<Settings, FileError> {
    let read = Reader::new(name, ()).toml(text, |root, context| context.root::<FileKeys>(root));
    read.map(Settings::from).map_err(FileError::Faults)
}

/// The JSON Schema of the file.
pub fn schema() -> serde_json::Value {
    windlass_keys::schema::<FileKeys, _>("Windlass ECN proxy, version 1", ())
}

impl From<FileKeys> for Settings {
    fn from(keys: FileKeys) -> Settings {
        fn all<K, T>(keys: Option<Vec<K>>, value: fn(K) -> T) -> Option<Vec<T>> {
            keys.map(|keys| keys.into_iter().map(value).collect())
        }
        Settings {
            client_side: all(keys.client_side, |it| it.0),
            network_side: all(keys.network_side, |it| it.0),
            policy: keys.policy.map(|it| it.0),
            fallback: keys.fallback,
            allow: all(keys.allow, |it| it.0),
            deny: all(keys.deny, |it| it.0),
            ports: all(keys.ports, |it| it.0),
            deny_ports: all(keys.deny_ports, |it| it.0),
            flows_max: keys.flows_max.map(|it| it.0),
            handshakes_max: keys.handshakes_max.map(|it| it.0),
            hosts_max: keys.hosts_max.map(|it| it.0),
            idle_timeout: keys.idle_timeout.map(|it| it.0),
            closing_timeout: keys.closing_timeout.map(|it| it.0),
            mark_bit: keys.mark_bit.map(|it| it.0),
            metrics: keys.metrics.map(|it| it.0),
            pin: keys.pin,
            socket: keys.socket.map(|it| it.0),
            log: keys.log.map(|it| it.0),
            log_format: keys.log_format.map(|format| match format {
                LogFormatKeys::Text => LogFormat::Text,
                LogFormatKeys::Json => LogFormat::Json,
            }),
        }
    }
}
