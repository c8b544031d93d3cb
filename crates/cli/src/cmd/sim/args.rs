//! The arguments of `windlass sim`.

use super::carried;
use super::model_args::{ModelParameters, parse_positive, parse_share, parse_thresholds};
use crate::live::KEYS_HELP;
use crate::registry::{controller, controller_names};
use crate::value::{
    Named, VARIANTS, parse_count, parse_nonzero_time, parse_probability, parse_rate, parse_seed,
    parse_seeds, parse_time, parse_variant, whole,
};
use clap::{Args, Subcommand, ValueHint};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use windlass_base::{BitRate, Span};
use windlass_scenario::DEFAULT_SEED;
use windlass_sim::simple_model::Arrivals;
use windlass_tcp::cc::ControllerFactory;

#[derive(Debug, Subcommand)]
pub(crate) enum Sim {
    /// Run a scenario and print its figures
    #[command(after_help = run_help())]
    Run(Run),
    /// Run many scenarios in one process: JSON lines in, JSON lines out
    #[command(after_help = BATCH_HELP)]
    Batch(Batch),
    /// Say what is wrong in scenario files: file, line, key, what was expected
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Run the simple model of the New-ECN paper (section 3.2): two connections, one RED router
    #[command(after_help = SIMPLE_MODEL_HELP)]
    SimpleModel(SimpleModel),
    /// Run the cycle model of New-ECN: flows in steady state, alone or behind a RED queue
    #[command(after_help = CYCLE_MODEL_HELP)]
    CycleModel(CycleModel),
    /// Put random connections on random bad paths and check what TCP promises
    #[command(after_help = CHAOS_HELP)]
    Chaos(Chaos),
    /// List the scenarios that come with Windlass, print one, or write them into a directory
    #[command(after_help = EXAMPLES_HELP)]
    Examples(Examples),
    /// Print the JSON Schema of scenario files
    #[command(after_help = "Example: windlass sim schema > scenario.schema.json")]
    Schema,
    /// Run the event loop with nothing to do, for the bench: what no simulation can be faster than
    #[command(hide = true)]
    Floor(Floor),
}

const RUN_HELP: &str = "\
Examples:
  windlass sim run experiments/new-ecn/s1_10M_p0.1_newecn.toml
  windlass sim run FILE --replicates 20 --jitter 100ms
  windlass sim run FILE --set dumbbell.bottleneck.rate=2Mbit/s --set queues.marking.p_max=0.2
  windlass sim run FILE --out results --pcap --qlog --json
  windlass sim run FILE --live --speed 10        # ten simulated seconds a second
  windlass sim run experiments/bench/leaf-spine.toml --threads 2

The same scenario and seed give the same bytes. Without --seed the scenario's own seed is taken, or \
1; the output names it.";

fn run_help() -> String {
    format!("{RUN_HELP}\n\n{KEYS_HELP}")
}

const BATCH_HELP: &str = "\
A line is a scenario as a JSON object, or a request:
  {\"file\": \"FILE\", \"set\": {\"flows.0.start\": \"1s\"}, \"seed\": 7, \"jitter\": \"100ms\", \
\"id\": \"a\"}

The result of a line is the object that `sim run --json` prints, on one line, in the order of the \
input, with the request's \"id\" (any value) and \"set\". A bad line gives {\"line\": N, \"error\": \"...\"}; the others run nevertheless, and the \
exit status is 2.

Example: windlass sim batch requests.jsonl --jobs 8 > results.jsonl";

const CHECK_HELP: &str = "\
Examples:
  windlass sim check experiments/*/*.toml
  windlass sim check --upgrade mine.toml    # schema = 1 becomes schema = 2
  windlass sim check --json mine.toml       # for editors and CI: problems and warnings of each file";

const CYCLE_MODEL_HELP: &str = "\
Examples:
  windlass sim cycle-model --rtt 10ms,100ms --probability 0.01
  windlass sim cycle-model --rtt 190ms,70ms,30ms,4ms --link 10M
  windlass sim cycle-model --rtt 190ms,70ms,30ms,4ms --link 2M --p-max 0.2 --gentle --json

The model has no losses: where RED would have to drop packets, the exit status is 1.
docs/internals/cycle-model.md describes it.";

const SIMPLE_MODEL_HELP: &str = "\
Examples:
  windlass sim simple-model
  windlass sim simple-model --variant accumulate --steps 500 --json
  windlass sim simple-model --link 2M --rtt 200ms,10ms --p-max 0.1 --beta 8

printed: as the paper's listing stands, each packet finds the queue as the last step left it. \
accumulate: each packet finds what the one before it left.";

const CHAOS_HELP: &str = "\
Examples:
  windlass sim chaos --seeds 0..2000
  windlass sim chaos --seeds 0..2000 --modern            # as ToU can set them
  windlass sim chaos --seeds 0..2000 --ecn-proxy         # an ECN proxy before an end, or before each
  windlass sim chaos --replay 1234      # everything that happened, line by line
  windlass sim chaos --json             # the sums, and each broken seed with its last events

A seed draws a path (loss, bursts, duplication, reordering, corruption, delay changes, blackouts), \
profiles, options, controllers, buffers and what both applications do. The streams must arrive \
intact or end with an error that the path explains. Exit status 1 if a seed breaks a promise; it \
breaks it again, exactly, whenever it is run.";

const EXAMPLES_HELP: &str = "\
Examples:
  windlass sim examples                         # all, by set
  windlass sim examples c4                      # one set
  windlass sim examples ready/home-droptail     # the file
  windlass sim examples ready/incast | windlass sim run -
  windlass sim examples ready tcpeval --write scenarios

--write puts NAME into DIR/NAME.toml, and beside its folder the traces that it reads. It changes no file \
without --force.";

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
pub(crate) struct Run {
    /// The scenario: TOML, or JSON if its name ends in .json or its text begins with {; "-" for
    /// standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// Print one JSON object instead of tables
    #[arg(long)]
    pub json: bool,
    /// Run with N consecutive seeds from the given one on, and print means and standard deviations
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub replicates: Option<NonZeroUsize>,
    /// Replicates at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", requires = "replicates")]
    #[arg(value_parser = parse_count, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
    /// Run on N threads where the network can be divided and it pays; the bytes are the same [default: 1]
    #[arg(long, value_name = "N", conflicts_with_all = ["replicates", "live"])]
    #[arg(value_parser = parse_count, allow_negative_numbers = true)]
    pub threads: Option<NonZeroUsize>,
    /// Write summary.json and time series into a new directory; with replicates, one directory
    /// for each seed in it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Write no time series of queues, which take most of the space
    #[arg(long, requires = "out")]
    pub flows_only: bool,
    /// Write time series as Parquet instead of CSV; a run keeps them in memory until its end
    #[arg(long, requires = "out")]
    pub parquet: bool,
    /// Write a packet capture of every link as well
    #[arg(long, requires = "out")]
    pub pcap: bool,
    /// Write a qlog file of every connection as well, as its sender sees it
    #[arg(long, requires = "out")]
    pub qlog: bool,
    /// Show throughput, queue, windows and cuts in the terminal, the whole run as it goes on; q at the
    /// end prints the figures
    #[arg(long, conflicts_with_all = ["json", "replicates"])]
    pub live: bool,
    /// Simulate at most X seconds a second [default: as fast as it can]
    #[arg(long, value_name = "X", requires = "live", value_parser = parse_positive)]
    pub speed: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// JSON lines; "-" for standard input
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Lines at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    pub jobs: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario files
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Replace a key before checking, as `sim run` does
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Rewrite TOML files of version 1 as version 2, which simulate the same; comments stay
    #[arg(long, conflicts_with = "set")]
    pub upgrade: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Examples {
    /// A scenario, which is printed, or sets and scenarios, which are listed [default: all]
    #[arg(value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = Named::new(carried::names, carried::parse_name))]
    pub names: Vec<String>,
    /// Write the named ones into this directory, with the files that they read
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub write: Option<PathBuf>,
    /// Replace files that have another text
    #[arg(long, requires = "write")]
    pub force: bool,
    /// Print one JSON object instead of text
    #[arg(long, conflicts_with = "write")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Floor {
    /// Events in the queue at any time
    #[arg(long, default_value_t = 16, value_name = "N")]
    #[arg(value_parser = whole::<u32>(1..=1_000_000))]
    pub pending: u32,
    /// Events to take
    #[arg(long, default_value_t = 20_000_000, value_name = "N", value_parser = parse_seed)]
    pub events: u64,
}

#[derive(Debug, Args)]
pub(crate) struct CycleModel {
    /// Round-trip time of each flow, without the queue
    #[arg(long, value_name = "TIME,...", required = true, value_delimiter = ',')]
    #[arg(value_parser = parse_nonzero_time)]
    pub rtt: Vec<Span>,
    /// Share of the packets that is marked; each flow is alone
    #[arg(long, required_unless_present = "link", conflicts_with = "link")]
    #[arg(value_name = "P", value_parser = parse_share)]
    pub probability: Option<f64>,
    /// Rate of a link behind a RED queue, which the flows share
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub link: Option<BitRate>,
    /// Bytes of a packet on the link
    #[arg(long, default_value_t = 512, value_name = "N", value_parser = whole::<u64>(1..=65_535))]
    pub packet_bytes: u64,
    /// RED's marking probability at the upper threshold
    #[arg(long, default_value = "0.1", value_name = "P", value_parser = parse_probability)]
    pub p_max: f64,
    /// RED's thresholds in packets
    #[arg(long, default_value = "10,20", value_name = "MIN,MAX")]
    #[arg(value_parser = parse_thresholds)]
    pub thresholds: [f64; 2],
    /// RED marks up to twice its upper threshold
    #[arg(long)]
    pub gentle: bool,
    /// RED's weight of a sample of the queue
    #[arg(long, default_value = "0.002", value_name = "W", value_parser = parse_share)]
    pub weight: f64,
    /// New-ECN's factor of the window at a mark
    #[arg(long, default_value = "0.9", value_name = "X", value_parser = parse_share)]
    pub alpha_wnd: f64,
    /// New-ECN's factor of the window slope at a mark
    #[arg(long, default_value = "0.9", value_name = "X", value_parser = parse_share)]
    pub alpha_slp: f64,
    /// New-ECN's growth of the slope, per squared second
    #[arg(long, default_value = "16", value_name = "X", value_parser = parse_positive)]
    pub beta: f64,
    /// The largest window in packets
    #[arg(long, default_value = "128", value_name = "N", value_parser = parse_positive)]
    pub window_limit: f64,
    /// Cycles of each flow, from one reduction of its window to the next
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    #[arg(value_parser = whole::<u32>(1..=10_000_000))]
    pub cycles: u32,
    /// The seed
    #[arg(long, default_value_t = DEFAULT_SEED, value_name = "N")]
    #[arg(value_parser = parse_seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SimpleModel {
    /// How the packets of one step find the queue
    #[arg(long, default_value = "printed", value_parser = parse_variant, value_name = VARIANTS)]
    pub variant: Arrivals,
    /// Steps of 10 ms; the paper's listing has 500
    #[arg(long, default_value_t = 3000, value_name = "N")]
    #[arg(value_parser = whole::<u32>(2..=10_000_000))]
    pub steps: u32,
    #[command(flatten)]
    pub model: ModelParameters,
    /// Runs, with seeds in a row
    #[arg(long, default_value_t = 20, value_name = "N")]
    #[arg(value_parser = whole::<u64>(1..=1_000_000))]
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
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub jobs: Option<NonZeroUsize>,
    /// Both ends with all of RACK-TLP, PRR, HyStart++, F-RTO, undo, pacing and Linux's ACKs
    #[arg(long)]
    pub modern: bool,
    /// An ECN proxy before one end or before each, and marks on the way
    #[arg(long)]
    pub ecn_proxy: bool,
    /// Sessions between hosts behind NATs: traversal, relays, outages
    #[cfg_attr(feature = "tou", arg(long, conflicts_with_all = ["modern", "ecn_proxy", "controller"]))]
    #[cfg_attr(not(feature = "tou"), arg(skip))]
    pub traversal: bool,
    /// Both ends with this congestion controller, with its default settings
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    #[arg(value_parser = Named::new(controller_names, controller))]
    pub controller: Option<Arc<dyn ControllerFactory>>,
    /// Run one seed and print everything that happens
    #[arg(long, value_name = "SEED", value_parser = parse_seed)]
    #[arg(conflicts_with_all = ["seeds", "jobs"])]
    pub replay: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long, conflicts_with = "replay")]
    pub json: bool,
}
