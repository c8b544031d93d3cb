//! The arguments of `windlass ecn-proxy`. Those of `run` have the names of the file's keys, and are
//! serialised for the crate of the proxy, whose reader of the file reads them too.

use crate::live::KEYS_HELP;
use crate::value::with_seconds;
use clap::{Args, Subcommand, ValueEnum};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

pub(crate) const ECN_PROXY_HELP: &str = "\
Examples:
  windlass ecn-proxy run --client-side eth1 --client-side wlan0      # on the router
  windlass ecn-proxy run --config /etc/windlass/ecn-proxy.toml --metrics 127.0.0.1:9617
  windlass ecn-proxy check --config /etc/windlass/ecn-proxy.toml
  windlass ecn-proxy status
  windlass ecn-proxy stats --live             # connections, marks, reductions, devices, as they change
  windlass ecn-proxy hosts                    # who has ECN, and who gets it from the proxy
  windlass ecn-proxy off                      # everything passes untouched, at once
  windlass ecn-proxy stop --drain 10m

run stays in the foreground; packaging/windlass-ecn-proxy.service runs it under systemd. The other \
commands ask it over a UNIX socket, which is for root and its group. docs/reference/ecn-proxy.md says what each \
counter counts. Needs root or the capabilities that windlass doctor ecn-proxy names.

Exit status: 0 success; 1 not possible now: not permitted, no proxy answers, another one runs, the \
kernel lacks something; 2 bad arguments or a bad configuration file.";

const RUN_HELP: &str = "\
Options win over the file. SIGHUP reads the file again and keeps all connections; a change of sizes, \
mark bit, metrics, pin, socket, log or log format takes a restart, and the log says so. SIGTERM and Ctrl-C \
end it: programs and table go with it, and every connection goes on (with --pin they stay for the next \
one, until windlass ecn-proxy stop).

The file has the same keys, with underscores:
  schema = 1
  client_side = [\"eth1\", \"wlan0\"]
  policy = \"virtual-loss\"
  deny = [\"192.168.1.9\"]
  idle_timeout = \"2h 4m\"";

const FLOWS_HELP: &str = "\
A line a connection: its state, the served host's end, the far end, the time since its last packet. \
With --json an object a line.

Example: windlass ecn-proxy flows | grep host=192.168.1.7";

const STATS_HELP: &str = "\
With --live marks are those for served hosts and those of served senders that the far host echoed \
(the counters marks and episodes); reductions are the answers to the latter. Their rates are means of \
the last two seconds.

Examples:
  windlass ecn-proxy stats --watch
  windlass ecn-proxy stats --explain
  windlass ecn-proxy stats --live
  windlass ecn-proxy stats --json | jq .counters.marks";

fn stats_help() -> String {
    format!("{STATS_HELP}\n\n{KEYS_HELP}")
}

const HOSTS_HELP: &str = "\
A row a device, by its name in the DHCP server's leases or its address: the MAC address from which its \
packets come, who gives it ECN (own: the host itself; served: the proxy; mixed: one or the other; \
without: neither), connections and payload with the shares of both, reductions of its sender and marks \
on its data. Its addresses follow below. Addresses with one MAC address are one device, unless it has \
three IPv4 addresses or more: then it is a router's. The number of devices follows on standard error. \
With --json an object a line. docs/reference/ecn-proxy.md explains each figure.

Examples:
  windlass ecn-proxy hosts                      # the devices with the most traffic first
  windlass ecn-proxy hosts --sort reductions
  windlass ecn-proxy hosts --json | jq -r 'select(.ecn == \"own\").addresses[].address'";

const CHECK_HELP: &str = "\
Takes the options of run. For each finding it prints where it is, what was found and what was expected: \
errors, with which run would not start or would wait for an interface, and warnings. The kernel, this \
user's rights, interfaces, flowtables, queues, the socket, the address of the metrics and the folder of \
the pins are checked once the configuration has no error. Queues that mark packets of served \
connections are listed; without one on the path the proxy changes little.

Examples:
  windlass ecn-proxy check --config /etc/windlass/ecn-proxy.toml
  windlass ecn-proxy check --strict --client-side eth1 && echo ready
  windlass ecn-proxy check --client-side eth1 --json | jq -r '.findings[].where'

Exit status: 0 no error; 1 an error of the machine; 2 an error of the options or the file.";

#[derive(Debug, Subcommand)]
pub(crate) enum EcnProxy {
    /// Give the connections through these interfaces ECN, until the command ends
    #[command(after_help = RUN_HELP)]
    Run(Box<EcnProxyRun>),
    /// Check the configuration and the machine, and change nothing
    #[command(after_help = CHECK_HELP)]
    Check(Box<CheckArgs>),
    /// Print the JSON Schema of the configuration file
    #[command(after_help = "Example: windlass ecn-proxy schema > ecn-proxy.schema.json")]
    Schema,
    /// Say what is in force: interfaces, policy, kernel features, connections by state, since when
    Status {
        #[command(flatten)]
        at: SocketArg,
        /// Print a JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the counters, or watch the proxy at work
    #[command(after_help = stats_help())]
    Stats {
        #[command(flatten)]
        at: SocketArg,
        /// Print a JSON object instead of a table; with --watch one a line
        #[arg(long)]
        json: bool,
        /// Print them every second, until Ctrl-C
        #[arg(long)]
        watch: bool,
        /// Say beside each counter what it counts
        #[arg(long, conflicts_with_all = ["json", "live"])]
        explain: bool,
        /// Show rates, marks, reductions, interfaces and devices in the terminal, until q
        #[arg(long, conflicts_with_all = ["json", "watch"])]
        live: bool,
    },
    /// List the connections in the table
    #[command(after_help = FLOWS_HELP)]
    Flows {
        #[command(flatten)]
        at: SocketArg,
        /// Print a JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// List the served hosts by device: which have ECN themselves, to which the proxy gives it, how much
    #[command(after_help = HOSTS_HELP)]
    Hosts(HostsArgs),
    /// Let every packet pass untouched, at once; the table stays
    Off {
        #[command(flatten)]
        at: SocketArg,
    },
    /// Serve again: the end of off, and of a drain
    On {
        #[command(flatten)]
        at: SocketArg,
    },
    /// End the proxy, and take away what it pinned; returns when it has ended
    Stop {
        #[command(flatten)]
        at: SocketArg,
        /// First serve the present connections to their end, at most for this time; take no new one
        #[arg(long, value_name = "TIME")]
        drain: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub run: EcnProxyRun,
}

#[derive(Debug, Args)]
pub(crate) struct HostsArgs {
    #[command(flatten)]
    pub at: SocketArg,
    /// Print a JSON object a line
    #[arg(long)]
    pub json: bool,
    /// Sort by this: addresses ascend, the largest figure and the last seen come first
    #[arg(long, value_enum, value_name = "KEY", default_value = "bytes")]
    pub sort: SortKey,
    /// Sort the other way round
    #[arg(long)]
    pub reverse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    Address,
    Connections,
    Bytes,
    Reductions,
    Marks,
    Seen,
}

/// Which proxy to ask.
#[derive(Debug, Args)]
pub(crate) struct SocketArg {
    /// Where the proxy listens
    #[arg(long, value_name = "PATH", default_value = "/run/windlass/ecn-proxy.sock")]
    pub socket: PathBuf,
}

#[derive(Debug, Args, Serialize)]
pub(crate) struct EcnProxyRun {
    /// Interface that faces served hosts
    #[arg(long, value_name = "INTERFACE")]
    pub client_side: Vec<String>,
    /// Interface that faces the network, on a machine that serves itself
    #[arg(long, value_name = "INTERFACE")]
    pub network_side: Vec<String>,
    /// How a mark slows a served sender down: virtual-loss (the proxy simulates one loss in the ACKs),
    /// drop (the proxy drops one packet), no-ect (nothing does: its packets carry no ECT)
    /// [default: virtual-loss]
    #[arg(long, value_name = "virtual-loss|drop|no-ect")]
    pub policy: Option<String>,
    /// Ask for ECN in a SYN that is sent again, too, as Linux does with
    /// net.ipv4.tcp_ecn_fallback = 0; else it goes without, and a host that answers none is
    /// remembered
    #[arg(long)]
    #[serde(rename = "fallback", serialize_with = "off")]
    pub no_fallback: bool,
    /// TOML file with what options leave open
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    #[serde(flatten)]
    pub lists: ListArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub daemon: DaemonArgs,
}

/// Which connections.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Which connections")]
pub(crate) struct ListArgs {
    /// Only connections with one end in such a network [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<String>,
    /// No connection with an end in it, whatever --allow says
    #[arg(long, value_name = "CIDR")]
    pub deny: Vec<String>,
    /// Only connections opened to such a port [default: all]
    #[arg(long, value_name = "PORT[-PORT]", value_delimiter = ',')]
    pub ports: Vec<String>,
    /// No connection opened to such a port
    #[arg(long, value_name = "PORT[-PORT]", value_delimiter = ',')]
    pub deny_ports: Vec<String>,
}

/// The tables.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableArgs {
    /// Connections that need work, at once [default: 262144]
    #[arg(long, value_name = "N", value_parser = number)]
    pub flows_max: Option<Value>,
    /// Handshakes at once [default: 65536]
    #[arg(long, value_name = "N", value_parser = number)]
    pub handshakes_max: Option<Value>,
    /// Far hosts of which is remembered whether ECN works [default: 65536]
    #[arg(long, value_name = "N", value_parser = number)]
    pub hosts_max: Option<Value>,
    /// Forget a connection without a packet for this time [default: 2h 4m]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub idle_timeout: Option<String>,
    /// The same for one that has a FIN [default: 4m]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub closing_timeout: Option<String>,
    /// The bit of the packet mark that guards the proxy's own packets [default: 27]
    #[arg(long, value_name = "0..31", value_parser = number)]
    pub mark_bit: Option<Value>,
}

/// The daemon.
#[derive(Debug, Args, Serialize)]
#[command(next_help_heading = "The daemon")]
pub(crate) struct DaemonArgs {
    /// Serve metrics for Prometheus at http://ADDRESS/metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<String>,
    /// Keep programs and table in the BPF file system when this ends, so that a restart leaves no
    /// gap [default folder: /sys/fs/bpf/windlass/ecn-proxy]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "/sys/fs/bpf/windlass/ecn-proxy", value_parser = absolute)]
    pub pin: Option<PathBuf>,
    /// dnsmasq's file of leases, from which hosts gives devices their names [default: the first that
    /// exists of dnsmasq's usual ones]
    #[arg(long, value_name = "FILE")]
    pub leases: Option<String>,
    /// Where the other commands find it [default: /run/windlass/ecn-proxy.sock]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<String>,
    /// Level of the log: off, error, warn, info, debug or trace, or directives of RUST_LOG's syntax
    /// such as warn,windlass_ecn_proxy=debug [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How the log is written, to standard error [default: text]
    #[arg(long, value_name = "text|json")]
    pub log_format: Option<String>,
}

/// A number, or a text that the proxy's reader refuses by name.
fn number(text: &str) -> Result<Value, Infallible> {
    Ok(text.parse::<i64>().map_or_else(|_| text.into(), Value::from))
}

/// A time with its unit; a bare number is seconds.
fn time(text: &str) -> Result<String, Infallible> {
    Ok(with_seconds(text))
}

fn absolute(path: &str) -> io::Result<PathBuf> {
    std::path::absolute(path)
}

/// An option that turns a key off, and is null if it was not given.
fn off<S: Serializer>(given: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    given.then_some(false).serialize(serializer)
}
