//! The arguments of `windlass probe serve` and `windlass probe population`.

use crate::registry::{controller, controller_names, known_controller};
use crate::value::{Named, parse_probability, parse_seed, parse_time, whole};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use windlass_base::Span;
use windlass_probe_serve::Stack;
use windlass_tcp::cc::ControllerFactory;

pub(crate) const SERVE_HELP: &str = "\
Examples:
  ip netns add try; alias in-try='ip netns exec try'        # a namespace, so that nothing is disturbed
  in-try windlass probe serve --tun engine --stack rfc2581 --initial-window 3 --address 10.98.0.2 &
  in-try ip address add 10.98.0.1/24 dev engine
  in-try windlass probe http://10.98.0.2/
  windlass probe population 600 > servers.csv; windlass probe population 600 --hosts > hosts.txt
  in-try windlass probe serve --tun engine --population servers.csv &
  in-try ip address add 10.99.255.254/16 dev engine; in-try ip address add fd99::ffff/64 dev engine
  in-try windlass probe survey hosts.txt --out survey/ --contact me --runs 1

  in-try windlass probe serve --tun engine --ecn accurate --address 10.98.0.2 &     # what --ecn says of AccECN

Each address answers a GET at every port with a page, by the engine with the slow start that --stack names; the \
network between has a round-trip time and loss. The TUN device is made unless it is there, and goes with \
the command; addresses and routes are yours to set. docs/reference/probe.md says what the stacks do.

Needs CAP_NET_ADMIN: root. Serves until it is ended.";

/// The ECN of servers.
#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ecn {
    /// No ECN
    Off,
    /// Marks are echoed (RFC 3168)
    Classic,
    /// Marks are counted: AccECN (RFC 9768)
    Accurate,
}

/// Servers to try the probe on.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The TUN device behind which they are
    #[arg(long, value_name = "DEVICE")]
    pub tun: String,
    /// An address of the server; may be given several times, for IPv4 and IPv6
    #[arg(long, value_name = "IP", required_unless_present = "population")]
    pub address: Vec<IpAddr>,
    /// How its slow start reacts
    #[arg(long, value_name = "NAME", default_value = "rfc2581")]
    #[arg(value_parser = PossibleValuesParser::new(Stack::ALL.map(Stack::name)))]
    pub stack: String,
    /// The congestion controller of every server that answers, unless the population names its own [default: reno]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = Named::new(controller_names, controller))]
    pub controller: Option<Arc<dyn ControllerFactory>>,
    /// The ECN on which every server agrees if the client asks for it; accurate means classic with a client that
    /// asks for no more
    #[arg(long, value_enum, value_name = "KIND", default_value = "off")]
    pub ecn: Ecn,
    /// Its initial window in segments
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1..=1000))]
    pub initial_window: u32,
    /// Its MSS in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1460)]
    #[arg(value_parser = whole::<u16>(88..=9000))]
    pub mss: u16,
    /// The round-trip time of its path
    #[arg(long, value_name = "TIME", default_value = "80ms", value_parser = parse_time)]
    pub rtt: Span,
    /// The probability that a packet is lost, in each direction
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = parse_probability)]
    pub loss: f64,
    /// Its page in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 200_000, value_parser = whole::<usize>(1..=1 << 40))]
    pub page: usize,
    /// Which packets are lost
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Print a line of JSON for each connection that ends, with its bytes and the counts of AccECN
    #[arg(long)]
    pub json: bool,
    /// Play the servers of this file instead, as `windlass probe population` prints it
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["address", "stack", "initial_window", "mss", "rtt", "loss", "page"])]
    pub population: Option<PathBuf>,
}

/// A mixed population of servers.
#[derive(Debug, Args)]
pub(crate) struct Population {
    /// How many servers
    #[arg(value_name = "COUNT", value_parser = whole::<u32>(1..=60_000))]
    pub count: u32,
    /// Which ones
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// The longest round-trip time; the shortest is 5 ms
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = parse_time)]
    pub rtt_max: Span,
    /// Add a column with the congestion controller of each server, drawn from these
    #[arg(long, value_name = "NAME", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = Named::new(controller_names, known_controller))]
    pub controllers: Vec<String>,
    /// Print a list of hosts for `windlass probe survey` instead
    #[arg(long)]
    pub hosts: bool,
}
