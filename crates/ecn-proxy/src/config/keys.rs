//! The keys of the configuration, each declared once: options of the command line and the TOML file
//! have the same. [`Source`](super::Source) reads both; an error lists every mistake.

use super::Ports;
use super::value::{self, POLICIES};
use crate::datapath::Policy;
use ipnet::IpNet;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use windlass_keys::{
    Context, Decode, Definitions, FilePath, Node, Value, Version, bounded, keys, text, words,
};

/// Where pinned programs and tables are, unless a folder is named.
const PIN_FOLDER: &str = "/sys/fs/bpf/windlass/ecn-proxy";

keys! {
    /// The configuration of the ECN proxy. Options of the command line win.
    struct ConfigKeys {
        /// Version of the format: 1.
        schema: Version,
        /// Interfaces that face the served hosts.
        client_side: Option<Vec<Interface>>,
        /// Interfaces that face the network, of a machine that serves itself.
        network_side: Option<Vec<Interface>>,
        /// How the proxy signals a mark to a served sender. Default: virtual-loss.
        policy: Option<Policy>,
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
        /// Where dnsmasq keeps its leases, whose names devices get. Default: where it usually does.
        leases: Option<FilePath>,
        /// Where the daemon is asked.
        socket: Option<FilePath>,
        /// The directives that select log events, in the syntax of RUST_LOG. Default: info.
        log: Option<LogDirectives>,
        /// How the log is written. Default: text.
        log_format: Option<LogFormat>,
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
    struct LogDirectives(String) as "a level of the log or directives, in quotes" = value::parse_log;
}

bounded! {
    /// The number of entries of a table.
    pub(crate) struct TableSize(u32) in 1..=1 << 26,
        "a whole number from 1 to 67108864";
}

bounded! {
    /// A bit of the packet mark.
    pub(crate) struct MarkBit(u8) in 0..=31, "a bit of the packet mark, 0 to 31";
}

words! {
    /// How the log is written.
    enum LogFormat as "a format of the log" {
        /// A line of text for each event.
        Text = "text",
        /// A JSON object a line.
        Json = "json",
    }
}

impl<R> Decode<R> for Policy {
    const EXPECTED: &'static str = "virtual-loss, drop or no-ect";

    fn decode(node: &Node, context: &mut Context<R>) -> Option<Self> {
        let Value::Text(text) = &node.value else { return context.unexpected::<Self, _>(node) };
        value::parse_policy(text).map_err(|message| context.wrong(node.position, message)).ok()
    }

    fn schema(_: &mut Definitions<R>) -> serde_json::Value {
        json!({ "enum": POLICIES.map(|(name, _)| name) })
    }
}

/// The folder of the pins; `None`: nothing is pinned.
#[derive(Clone, Debug)]
pub(crate) struct Pin(pub(crate) Option<PathBuf>);

/// Ports; a single one may stand without quotes.
#[derive(Clone, Debug)]
pub(crate) struct PortRange(pub(crate) Ports);

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

/// The JSON Schema of the file.
pub fn schema() -> serde_json::Value {
    windlass_keys::schema::<ConfigKeys, _>("Windlass ECN proxy, version 1", ())
}
