//! The arguments, declared once: parsing, help, completions and man pages derive from them.

mod ecn_proxy;
mod link;
mod probe;
mod serve;
mod split_ack;
mod survey;
mod tou;

pub(crate) use ecn_proxy::EcnProxy;
#[cfg(all(feature = "ecn-proxy", target_os = "linux"))]
pub(crate) use ecn_proxy::{At, EcnProxyRun};
pub(crate) use link::{Link, LinkCommand, LinkRun, PathArgs, Watch};
pub(crate) use probe::Probe;
#[cfg(target_os = "linux")]
pub(crate) use probe::{How, ProbeCommand};
#[cfg(target_os = "linux")]
pub(crate) use serve::{Population, Serve};
pub(crate) use split_ack::SplitAck;
#[cfg(target_os = "linux")]
pub(crate) use survey::Survey;
pub(crate) use tou::{
    Family, PathOptions, Perf, PerfClient, PerfServer, Tell, Tou, TouConnect, TouListen, Transport,
};

use crate::doctor;
use crate::failure::EXIT_CODES;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, value_parser};
use clap_complete::Shell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use windlass_base::Span;
use windlass_sim::scenario::{DEFAULT_SEED, parse_time};
use windlass_sim::simple_model::Arrivals;

/// Tools around TCP's congestion window.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate TCP over networks of links and queues
    #[command(subcommand)]
    Sim(Sim),
    /// Put real packets on an emulated link: rate, queue, delay, loss
    Link(Box<Link>),
    /// Put New-ECN into the Linux kernel, look at it, take it away
    #[command(subcommand, after_help = CC_HELP)]
    Cc(Cc),
    /// Give every TCP connection through a router ECN, with no change on any host
    #[command(subcommand, after_help = ecn_proxy::ECN_PROXY_HELP)]
    EcnProxy(EcnProxy),
    /// Show from outside how a server's slow start reacts to split ACKs, and its initial window
    #[command(after_help = probe::PROBE_HELP)]
    Probe(Box<Probe>),
    /// Run a program with its own connections' ACKs split, and count what comes in for it
    #[command(after_help = split_ack::SPLIT_ACK_HELP)]
    SplitAck(SplitAck),
    /// TCP's byte stream over UDP: listen, connect, measure
    #[command(subcommand, after_help = tou::TOU_HELP)]
    Tou(Tou),
    /// Say what this machine lacks for which tool, and how to get it
    #[command(after_help = DOCTOR_HELP)]
    Doctor(Doctor),
    /// Print a shell's completion script
    #[command(after_help = "Example: windlass completions bash > \
        ~/.local/share/bash-completion/completions/windlass")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a man page
    #[command(after_help = "Example: windlass man sim run | man -l -")]
    Man {
        /// The command whose page to print; none: windlass itself
        command: Vec<String>,
    },
}

const CC_HELP: &str = "\
Examples:
  windlass cc load new-ecn                    # BPF struct_ops: no module, no reboot
  iperf3 -C new_ecn -c HOST                   # one program
  ip route change HOST via GATEWAY features ecn congctl new_ecn         # one route
  sysctl net.ipv4.tcp_congestion_control=new_ecn net.ipv4.tcp_ecn=1     # a network namespace
  windlass cc flows
  windlass cc unload new-ecn

It stays loaded when the command has ended, until it is unloaded or the machine restarts. The name \
holds for the whole machine, in all network namespaces. Where ECN is not negotiated (sysctl \
net.ipv4.tcp_ecn=1 asks for it) New-ECN is Reno. Needs root, or CAP_BPF and \
CAP_PERFMON and a folder /sys/fs/bpf/windlass of one's own (see windlass doctor cc).

Exit status: 0 success; 1 not possible now: not permitted, the name taken or not loaded, the kernel \
refuses; 2 bad arguments.";

#[derive(Debug, Subcommand)]
pub(crate) enum Cc {
    /// Register a controller in the kernel
    Load(CcLoad),
    /// Say what is loaded: parameters, age, connections, the kernel's numbers of its programs
    Status {
        /// Print a JSON array instead of a table
        #[arg(long)]
        json: bool,
    },
    /// List the connections that use it, in all network namespaces: window, slope, marks, cuts
    #[command(after_help = FLOWS_HELP)]
    Flows {
        /// The controller's name in the kernel
        #[arg(long, default_value = KERNEL_NAME)]
        name: String,
        /// Print a JSON array instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Take a controller away; connections that use it go on with it until they end
    Unload {
        /// The controller
        #[arg(value_parser = PossibleValuesParser::new(["new-ecn"]))]
        controller: String,
        /// The controller's name in the kernel
        #[arg(long, default_value = KERNEL_NAME)]
        name: String,
    },
}

const KERNEL_NAME: &str = "new_ecn";

const FLOWS_HELP: &str = "\
echoes: ACKs with ECN echo (a mark is echoed until the receiver hears of the cut). mark cuts: cuts \
for a mark, at most one in a round trip. loss cuts: cuts for a loss, timeouts among them. netns: \
the namespace, as in /proc/PID/ns/net. Windows are in segments, the slope in segments per round trip.

Example: windlass cc flows --json | jq '.[].slope'";

#[derive(Debug, Args)]
pub(crate) struct CcLoad {
    /// The controller
    #[arg(value_parser = PossibleValuesParser::new(["new-ecn"]))]
    pub controller: String,
    /// cwnd and ssthresh are multiplied by this at a mark
    #[arg(long, value_name = "FACTOR", default_value_t = 0.9, allow_negative_numbers = true)]
    pub alpha_wnd: f64,
    /// The slope is multiplied by this at every mark but the first
    #[arg(long, value_name = "FACTOR", default_value_t = 0.9, allow_negative_numbers = true)]
    pub alpha_slp: f64,
    /// The slope grows by this times the square of the round-trip time (in seconds), once in a
    /// round trip
    #[arg(long, value_name = "NUMBER", default_value_t = 16.0, allow_negative_numbers = true)]
    pub beta: f64,
    /// The name by which connections choose it: 1 to 15 letters, digits, underscores
    #[arg(long, default_value = KERNEL_NAME)]
    pub name: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sim {
    /// Run a scenario and print its figures
    #[command(after_help = RUN_HELP)]
    Run(Run),
    /// Run many scenarios in one process: JSON lines in, JSON lines out
    #[command(after_help = BATCH_HELP)]
    Batch(Batch),
    /// Say what is wrong in scenario files: file, line, key, what was expected
    #[command(after_help = "Example: windlass sim check experiments/*/*.toml")]
    Check(Check),
    /// Run the simple model of the New-ECN paper (section 3.2): two connections, one RED router
    #[command(after_help = SIMPLE_MODEL_HELP)]
    SimpleModel(SimpleModel),
    /// Put random connections on random bad paths and check what TCP promises
    #[command(after_help = CHAOS_HELP)]
    Chaos(Chaos),
    /// Print the JSON Schema of scenario files
    #[command(after_help = "Example: windlass sim schema > scenario.schema.json")]
    Schema,
    /// Run the event loop with nothing to do, for the bench: what no simulation can be faster than
    #[command(hide = true)]
    Floor(Floor),
}

const DOCTOR_HELP: &str = "\
Examples:
  windlass doctor                       # all tools
  windlass doctor link cc               # these alone
  windlass doctor cc --json             # for a script

Looks at programs, capabilities and the kernel as the user who runs it finds them: what root has, \
`sudo windlass doctor` says. Nothing is changed; namespaces are tried in a child that ends at once.

Exit status: 0 all that the tools need is there; 1 something without which one of them does not \
work is missing (what is optional does not count); 2 no such tool.";

const RUN_HELP: &str = "\
Examples:
  windlass sim run experiments/new-ecn/s1_10M_p0.1_newecn.toml
  windlass sim run FILE --replicates 20 --jitter 100ms
  windlass sim run FILE --set dumbbell.bottleneck.rate=2Mbit/s --set queues.marking.p_max=0.2
  windlass sim run FILE --out results --pcap --json

The same scenario and seed give the same bytes. Without --seed the scenario's own seed is taken, or \
1; the output names it.";

const BATCH_HELP: &str = "\
A line is a scenario as a JSON object, or a request:
  {\"file\": \"FILE\", \"set\": {\"flows.0.start\": \"1s\"}, \"seed\": 7, \"jitter\": \"100ms\"}

The result of a line is the object that `sim run --json` prints, on one line, in the order of the \
input. A bad line gives {\"line\": N, \"error\": \"...\"}; the others run nevertheless, and the \
exit status is 2.

Example: windlass sim batch requests.jsonl --jobs 8 > results.jsonl";

const SIMPLE_MODEL_HELP: &str = "\
Examples:
  windlass sim simple-model
  windlass sim simple-model --variant accumulate --steps 500 --json

printed: as the paper's listing stands, each packet finds the queue as the last step left it. \
accumulate: each packet finds what the one before it left.";

const CHAOS_HELP: &str = "\
Examples:
  windlass sim chaos --seeds 0..2000
  windlass sim chaos --seeds 0..2000 --modern            # as ToU sets them
  windlass sim chaos --seeds 0..2000 --ecn-proxy         # an ECN proxy before an end, or before each
  windlass sim chaos --replay 1234      # everything that happened, line by line

A seed draws a path (loss, bursts, duplication, reordering, corruption, delay changes, blackouts), \
profiles, options, controllers, buffers and what both applications do. The streams must arrive \
intact or end with an error that the path explains. Exit status 1 if a seed breaks a promise; it \
breaks it again, exactly, whenever it is run.";

/// How a scenario is changed on its way from the file.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Replace a key of the scenario, by its dotted path; items of lists by their index from 0
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of the random stream [default: the scenario's, or 1]
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Add a uniform draw from zero to this to every start time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    #[arg(allow_hyphen_values = true)]
    pub jitter: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The tools to look at; none: all
    #[arg(value_name = "TOOL", value_parser = PossibleValuesParser::new(doctor::tool_names()))]
    pub tools: Vec<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The scenario: TOML, or JSON if its name ends in .json
    pub file: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
    /// Run with so many seeds, from the given one on, and print means and standard deviations
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub replicates: Option<NonZeroUsize>,
    /// Replicates at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", requires = "replicates")]
    #[arg(value_parser = parse_count, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Write summary.json and time series into a new directory; with replicates, one directory
    /// for each seed in it
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write no time series of queues, which are most of what is written
    #[arg(long, requires = "out")]
    pub flows_only: bool,
    /// Write a packet capture of every link as well
    #[arg(long, requires = "out")]
    pub pcap: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// JSON lines; "-" for standard input
    #[arg(default_value = "-")]
    pub file: PathBuf,
    /// Lines at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario files
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Replace a key before checking, as `sim run` does
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Floor {
    /// Events in the queue at any time
    #[arg(long, default_value_t = 16, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub pending: u32,
    /// Events to take
    #[arg(long, default_value_t = 20_000_000, value_name = "N")]
    pub events: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SimpleModel {
    /// How the packets of one step find the queue
    #[arg(long, default_value = "printed", value_parser = parse_variant, value_name = VARIANTS)]
    pub variant: Arrivals,
    /// Steps of 10 ms; the paper's listing has 500
    #[arg(long, default_value_t = 3000, value_name = "N")]
    #[arg(value_parser = value_parser!(u32).range(2..=10_000_000))]
    pub steps: u32,
    /// Runs, with seeds in a row
    #[arg(long, default_value_t = 20, value_name = "N")]
    #[arg(value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    #[arg(value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Add windows and queue after every step of the first run to the JSON
    #[arg(long, requires = "json")]
    pub series: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Chaos {
    /// The seeds to run, the last not included
    #[arg(long, default_value = "0..2000", value_name = "A..B", value_parser = parse_seeds)]
    pub seeds: Range<u64>,
    /// Seeds at a time [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Both ends with all of RACK-TLP, PRR, HyStart++, F-RTO, undo, pacing and Linux's ACKs, as ToU
    #[arg(long)]
    pub modern: bool,
    /// An ECN proxy before one end or before each, and marks on the way
    #[arg(long)]
    pub ecn_proxy: bool,
    /// Run one seed and print everything that happens
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "jobs"])]
    pub replay: Option<u64>,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let bounds = text.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    match bounds {
        Some((first, end)) if first < end => Ok(first..end),
        _ => Err("expected A..B with A below B, such as 0..2000".to_owned()),
    }
}

const VARIANTS: &str = "printed|accumulate";

fn parse_variant(text: &str) -> Result<Arrivals, String> {
    let found = Arrivals::ALL.into_iter().find(|arrivals| arrivals.name() == text);
    found.ok_or_else(|| format!("expected {VARIANTS}"))
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a whole number from 1 on".into())
}
