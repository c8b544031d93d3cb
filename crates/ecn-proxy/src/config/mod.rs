//! The proxy's configuration: options of the command line and the keys of a TOML file. Options win.
//!
//! A [`Source`] reads both with the same reader (keys.rs), as often as the daemon wants, and makes a
//! [`Config`], in which nothing is open any more.

mod keys;
mod source;
mod value;

pub(crate) use keys::LogFormat;
pub use keys::schema;
pub(crate) use source::ConfigError;
pub use source::Source;
pub use value::parse_timeout;
pub(crate) use value::policy_name;

use crate::datapath::{self, ConnectionFilter, Lists, Policy, Side, Timeouts};
use keys::{ConfigKeys, PortRange, Prefix};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use windlass_keys::Message;

/// The default path of the control socket.
const SOCKET_DEFAULT: &str = "/run/windlass/ecn-proxy.sock";
/// Default directives of `tracing_subscriber::EnvFilter`, in the syntax of RUST_LOG.
const LOG_DEFAULT: &str = "info";
/// Prefixes in each of the two lists, and port ranges likewise.
const LIST_MAX: usize = 1024;

/// Ports of the side that a connection was opened to, both ends included.
pub(crate) type Ports = RangeInclusive<u16>;

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
    /// dnsmasq's file of leases; `None`: the first of the usual ones.
    pub leases: Option<PathBuf>,
    /// Where the daemon is asked.
    pub socket: PathBuf,
    /// The directives that select log events, in the syntax of RUST_LOG.
    pub log: String,
    /// How the log is written.
    pub(crate) log_format: LogFormat,
}

impl Config {
    /// The configuration of a file alone; `name` is the file name for messages. Relative paths begin
    /// where it is.
    ///
    /// # Errors
    ///
    /// A line for each mistake: the text is not TOML, a key is unknown, a value is invalid, or the
    /// values do not fit together.
    pub fn from_toml(name: &str, text: &str) -> Result<Config, String> {
        Config::read(name, text).map_err(|error| error.to_string())
    }

    pub(crate) fn read(name: &str, text: &str) -> Result<Config, ConfigError> {
        let keys = source::read_text(name, text).map_err(ConfigError::File)?;
        Config::new(keys.clone(), keys).map_err(ConfigError::Whole)
    }

    /// The configuration with defaults for the keys that neither `options` nor `file` has.
    ///
    /// # Errors
    ///
    /// No interface, one on both sides or named twice, too many entries in a list.
    fn new(options: ConfigKeys, file: ConfigKeys) -> Result<Config, Message> {
        let defaults = datapath::Settings::default();
        let timeouts = Timeouts::default();
        let mark_bit = defaults.mark.trailing_zeros() as u8;
        let config = Config {
            client_side: list(options.client_side.or(file.client_side), |it| it.0),
            network_side: list(options.network_side.or(file.network_side), |it| it.0),
            policy: options.policy.or(file.policy).unwrap_or_default(),
            fallback: options.fallback.or(file.fallback).unwrap_or(defaults.fallback),
            lists: Lists {
                allow: rules(options.allow.or(file.allow), options.ports.or(file.ports)),
                deny: rules(options.deny.or(file.deny), options.deny_ports.or(file.deny_ports)),
            },
            flows_max: options.flows_max.or(file.flows_max).map_or(defaults.flows_max, |it| it.0),
            handshakes_max: options
                .handshakes_max
                .or(file.handshakes_max)
                .map_or(defaults.handshakes_max, |it| it.0),
            hosts_max: options.hosts_max.or(file.hosts_max).map_or(defaults.hosts_max, |it| it.0),
            timeouts: Timeouts {
                idle: options.idle_timeout.or(file.idle_timeout).map_or(timeouts.idle, |it| it.0),
                closing: options
                    .closing_timeout
                    .or(file.closing_timeout)
                    .map_or(timeouts.closing, |it| it.0),
            },
            mark_bit: options.mark_bit.or(file.mark_bit).map_or(mark_bit, |it| it.0),
            metrics: options.metrics.or(file.metrics).map(|it| it.0),
            pin: options.pin.or(file.pin).and_then(|it| it.0),
            leases: options.leases.or(file.leases).map(|it| it.0),
            socket: options.socket.or(file.socket).map_or_else(|| SOCKET_DEFAULT.into(), |it| it.0),
            log: options.log.or(file.log).map_or_else(|| LOG_DEFAULT.to_owned(), |it| it.0),
            log_format: options.log_format.or(file.log_format).unwrap_or(LogFormat::Text),
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), Message> {
        let interfaces: Vec<&String> = self.interfaces().map(|(name, _)| name).collect();
        if interfaces.is_empty() {
            let expected =
                "--client-side or --network-side, or client_side or network_side in the file";
            let (what, expected) = ("no interface".to_owned(), expected.to_owned());
            return Err(Message::Wrong { what, expected });
        }
        for (index, name) in interfaces.iter().enumerate() {
            if interfaces[..index].contains(name) {
                return Err(format!("interface {name} is named twice").into());
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
                let expected = format!("at most {LIST_MAX} entries in {key}");
                Err(Message::Unexpected { expected, found: length.to_string() })
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

fn rules(networks: Option<Vec<Prefix>>, ports: Option<Vec<PortRange>>) -> ConnectionFilter {
    ConnectionFilter { networks: list(networks, |it| it.0), ports: list(ports, |it| it.0) }
}

fn list<K, T>(keys: Option<Vec<K>>, value: fn(K) -> T) -> Vec<T> {
    keys.into_iter().flatten().map(value).collect()
}

#[cfg(test)]
mod tests;
