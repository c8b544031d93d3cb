//! The proxy's configuration: options of the command line, and the keys of a TOML file. Options
//! win.

mod file;
mod source;
mod value;

pub use file::{FileError, read_file, read_text, schema};
pub use source::Source;
pub(crate) use value::policy_name;
pub use value::{
    parse_interface, parse_log, parse_log_format, parse_mark_bit, parse_metrics, parse_policy,
    parse_ports, parse_prefix, parse_size, parse_timeout,
};

use crate::datapath::{self, ConnectionFilter, Lists, Policy, Side, Timeouts};
use ipnet::IpNet;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// The default path of the control socket.
const SOCKET_DEFAULT: &str = "/run/windlass/ecn-proxy.sock";
/// Where pinned programs and tables are.
pub const PIN_FOLDER: &str = "/sys/fs/bpf/windlass/ecn-proxy";
/// Default directives of `tracing_subscriber::EnvFilter`, in the syntax of RUST_LOG.
const LOG_DEFAULT: &str = "info";
/// Prefixes in each of the two lists, and port ranges likewise.
const LIST_MAX: usize = 1024;

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// A line of text for each event.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// The folder of the pins; `None`: nothing is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin(pub Option<PathBuf>);

/// Ports of the side that a connection was opened to, both ends included.
pub type Ports = RangeInclusive<u16>;

/// Settings of the command line or of a file; unset ones are `None`. The fields are the keys of the
/// file.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "as in Config")]
pub struct Settings {
    pub client_side: Option<Vec<String>>,
    pub network_side: Option<Vec<String>>,
    pub policy: Option<Policy>,
    pub fallback: Option<bool>,
    pub allow: Option<Vec<IpNet>>,
    pub deny: Option<Vec<IpNet>>,
    pub ports: Option<Vec<Ports>>,
    pub deny_ports: Option<Vec<Ports>>,
    pub flows_max: Option<u32>,
    pub handshakes_max: Option<u32>,
    pub hosts_max: Option<u32>,
    pub idle_timeout: Option<Duration>,
    pub closing_timeout: Option<Duration>,
    pub mark_bit: Option<u8>,
    pub metrics: Option<SocketAddr>,
    pub pin: Option<Pin>,
    pub socket: Option<PathBuf>,
    pub log: Option<String>,
    pub log_format: Option<LogFormat>,
}

impl Settings {
    /// These, and what they leave open from `other`.
    pub fn or(self, other: Settings) -> Settings {
        Settings {
            client_side: self.client_side.or(other.client_side),
            network_side: self.network_side.or(other.network_side),
            policy: self.policy.or(other.policy),
            fallback: self.fallback.or(other.fallback),
            allow: self.allow.or(other.allow),
            deny: self.deny.or(other.deny),
            ports: self.ports.or(other.ports),
            deny_ports: self.deny_ports.or(other.deny_ports),
            flows_max: self.flows_max.or(other.flows_max),
            handshakes_max: self.handshakes_max.or(other.handshakes_max),
            hosts_max: self.hosts_max.or(other.hosts_max),
            idle_timeout: self.idle_timeout.or(other.idle_timeout),
            closing_timeout: self.closing_timeout.or(other.closing_timeout),
            mark_bit: self.mark_bit.or(other.mark_bit),
            metrics: self.metrics.or(other.metrics),
            pin: self.pin.or(other.pin),
            socket: self.socket.or(other.socket),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
        }
    }
}

/// The complete configuration, defaults included.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Interfaces that face the served hosts.
    pub client_side: Vec<String>,
    /// Interfaces that face the network, of a machine that serves itself.
    pub network_side: Vec<String>,
    /// How the proxy signals a mark to a served sender.
    pub policy: Policy,
    /// Whether a SYN that is sent again goes without ECN.
    pub fallback: bool,
    /// Which connections are taken on.
    pub lists: Lists,
    /// Connections that need work, at once.
    pub flows_max: u32,
    /// Handshakes at once.
    pub handshakes_max: u32,
    /// Far hosts remembered.
    pub hosts_max: u32,
    /// When a connection without packets is forgotten.
    pub timeouts: Timeouts,
    /// The bit of the packet mark (0 to 31) that guards the proxy's own clones.
    pub mark_bit: u8,
    /// Where to serve metrics.
    pub metrics: Option<SocketAddr>,
    /// Where programs and tables are kept when the daemon ends, for the next one.
    pub pin: Option<PathBuf>,
    /// Where the daemon is asked.
    pub socket: PathBuf,
    /// The directives that select log events, in the syntax of RUST_LOG.
    pub log: String,
    /// How the log is written.
    pub log_format: LogFormat,
}

impl Config {
    /// The configuration with defaults for what is not set.
    ///
    /// # Errors
    ///
    /// No interface, one on both sides or named twice, too many entries in a list.
    pub fn new(settings: Settings) -> Result<Config, String> {
        let defaults = datapath::Settings::default();
        let timeouts = Timeouts::default();
        let config = Config {
            client_side: settings.client_side.unwrap_or_default(),
            network_side: settings.network_side.unwrap_or_default(),
            policy: settings.policy.unwrap_or_default(),
            fallback: settings.fallback.unwrap_or(defaults.fallback),
            lists: Lists {
                allow: rules(settings.allow, settings.ports),
                deny: rules(settings.deny, settings.deny_ports),
            },
            flows_max: settings.flows_max.unwrap_or(defaults.flows_max),
            handshakes_max: settings.handshakes_max.unwrap_or(defaults.handshakes_max),
            hosts_max: settings.hosts_max.unwrap_or(defaults.hosts_max),
            timeouts: Timeouts {
                idle: settings.idle_timeout.unwrap_or(timeouts.idle),
                closing: settings.closing_timeout.unwrap_or(timeouts.closing),
            },
            mark_bit: settings.mark_bit.unwrap_or(defaults.mark.trailing_zeros() as u8),
            metrics: settings.metrics,
            pin: settings.pin.and_then(|pin| pin.0),
            socket: settings.socket.unwrap_or_else(|| SOCKET_DEFAULT.into()),
            log: settings.log.unwrap_or_else(|| LOG_DEFAULT.to_owned()),
            log_format: settings.log_format.unwrap_or_default(),
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), String> {
        let interfaces: Vec<&String> = self.interfaces().map(|(name, _)| name).collect();
        if interfaces.is_empty() {
            return Err(
                "no interface: expected --client-side or --network-side, or client_side or \
                        network_side in the file"
                    .into(),
            );
        }
        for (index, name) in interfaces.iter().enumerate() {
            if interfaces[..index].contains(name) {
                return Err(format!("interface {name} is named twice"));
            }
        }
        let Lists { allow, deny } = &self.lists;
        let lengths = [
            ("allow", allow.networks.len()),
            ("deny", deny.networks.len()),
            ("ports", allow.ports.len()),
            ("deny_ports", deny.ports.len()),
        ];
        match lengths.into_iter().find(|(_, length)| *length > LIST_MAX) {
            Some((key, length)) => {
                Err(format!("{key}: expected at most {LIST_MAX} entries, found {length}"))
            }
            None => Ok(()),
        }
    }

    /// All interfaces, and whom each faces.
    pub fn interfaces(&self) -> impl Iterator<Item = (&String, Side)> {
        let client = self.client_side.iter().map(|name| (name, Side::ClientSide));
        client.chain(self.network_side.iter().map(|name| (name, Side::NetworkSide)))
    }

    /// The settings with which the packet path is loaded.
    pub fn datapath(&self) -> datapath::Settings {
        datapath::Settings {
            pin: self.pin.clone(),
            flows_max: self.flows_max,
            handshakes_max: self.handshakes_max,
            hosts_max: self.hosts_max,
            mark: 1 << self.mark_bit,
            policy: self.policy,
            fallback: self.fallback,
            ..datapath::Settings::default()
        }
    }
}

fn rules(networks: Option<Vec<IpNet>>, ports: Option<Vec<Ports>>) -> ConnectionFilter {
    ConnectionFilter { networks: networks.unwrap_or_default(), ports: ports.unwrap_or_default() }
}

#[cfg(test)]
mod tests;
