//! The arguments of `windlass link`.

use crate::live::KEYS_HELP;
use crate::value::{
    OverTime, PortArg, Side, Sided, all, last, parse_aggregation, parse_block,
    parse_delay_over_time, parse_loss, parse_outage, parse_policer, parse_port, parse_probability,
    parse_queue, parse_rate_over_time, parse_seed, parse_shaper, parse_time, parse_wifi_jitter,
    sided, whole,
};
use clap::{Args, Subcommand};
use ipnet::Ipv4Net;
use std::ffi::OsString;
use std::path::PathBuf;
use windlass_aqm::Config as Queue;
use windlass_base::Span;
use windlass_link::{Loss, PathConfig, Variation};

const LINK_HELP: &str = "\
Examples:
  windlass link --rate 10M --delay 40ms -- bash
  windlass link --rate up:1M --rate down:16M --delay 20ms --aqm fq-codel -- curl http://100.64.0.1/
  windlass link --rate down:trace:cellular.trace --rate up:2M --delay 20ms -- bash
  windlass link --rate steps:0s=10M/10s=2M,repeat=20s --outage at=5s,lasts=1s,every=30s -- bash
  windlass link --rate 10M --aqm red:min=10,max=20,above_max=mark-ect --outside 'iperf3 -s -1' -- \
sh -c 'sleep 1; iperf3 -c $WINDLASS_OUTSIDE'
  windlass link --rate 10M --delay 20ms --outside 'iperf3 -s' --live -- \
sh -c 'sleep 1; iperf3 -t 60 -c $WINDLASS_OUTSIDE'
  windlass link --delay 20ms -- windlass link --loss 1% -- bash        # one link behind the other
  windlass link --rate 10M --delay 5ms --port a@left=10.0.0.1/24 --port b@right=10.0.0.2/24

COMMAND runs in a network namespace of its own. Its packets leave by the link (up), and come out \
at $WINDLASS_OUTSIDE, an address of the namespace that windlass was started in (the first that is \
free of 100.64.0.1, 100.64.16.1, ..., or that of --block); the answers come back down. Without root, where user namespaces \
are allowed, the outside is an empty namespace: --outside runs a server in it. COMMAND sees no other \
processes than its own, and they end with it. Nothing is left behind, whatever is killed.

Queues and their settings have the names of scenario files (docs/reference/scenarios.md); bare numbers are \
packets. Examples: droptail:limit=50, red:min=10,max=20,weight=0.002,p_max=0.1, codel:target=5ms, \
fq-codel; the message about any other name lists all. Losses: 0.01, 1%, \
gilbert-elliott:good_to_bad=0.01,bad_to_good=0.25, listed:first=3/7,retransmissions=1 (ordinals in \
each flow).

With --live q ends COMMAND by SIGTERM, Ctrl-C by SIGINT.

Exit status: that of COMMAND, 128 and the signal's number if one ended it; 127 no such command; 1 and \
2 as ever. With --port: 0 after Ctrl-C.";

const RUN_HELP: &str = "\
A link of two ports:
  schema = 1
  [[ports]]
  name = \"a\"                        # the device
  namespace = \"left\"                # of ip netns, or pid:NUMBER, or a path; none: this one
  addresses = [\"10.0.0.1/24\"]
  up = { rate = \"10Mbit/s\", delay = \"20ms\", queue = \"codel\" }
  [[ports]]
  name = \"b\"
  addresses = [\"10.0.0.2/24\"]

All keys: docs/reference/link.md. Runs until Ctrl-C or SIGTERM; the exit status is 0 then.

Examples:
  windlass link run dumbbell.toml --json --log queue.csv
  windlass link run dumbbell.toml --live";

fn link_help() -> String {
    format!("{LINK_HELP}\n\n{KEYS_HELP}")
}

fn run_help() -> String {
    format!("{RUN_HELP}\n\n{KEYS_HELP}")
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = link_help())]
pub(crate) struct Link {
    #[command(subcommand)]
    pub command: Option<LinkCommand>,
    #[command(flatten)]
    pub path: PathArgs,
    #[command(flatten)]
    pub watch: Watch,
    /// Seed of the random streams
    #[arg(long, value_name = "N", default_value_t = windlass_link::DEFAULT_SEED, value_parser = parse_seed)]
    pub seed: u64,
    /// The largest IP packet in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    #[arg(value_parser = whole::<u32>(68..=65_535))]
    pub mtu: u32,
    /// Addresses of the link and of those in it, at least four: a network such as 10.200.0.0/20 that this
    /// machine does not use [default: a free /20 of 100.64.0.0/10]
    #[arg(long, value_name = "ADDRESS/PREFIX", value_parser = parse_block)]
    #[arg(conflicts_with = "port")]
    pub block: Option<Ipv4Net>,
    /// Join two TUN devices instead of running a command; to be given twice. up is from the first
    /// to the second
    #[arg(long, value_name = "NAME[@NAMESPACE][=ADDRESS/PREFIX]", value_parser = parse_port)]
    #[arg(conflicts_with_all = ["command_line", "outside"])]
    pub port: Vec<PortArg>,
    /// Run this on the other side of the link as long as COMMAND runs, by sh -c
    #[arg(long, value_name = "COMMAND")]
    pub outside: Option<OsString>,
    /// The program to run behind the link, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command_line: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Join the ports of a file: two or more TUN devices, each in a namespace if it says so
    #[command(after_help = run_help())]
    Run(LinkRun),
    /// Print the JSON Schema of the file of run
    #[command(after_help = "Example: windlass link schema > link.schema.json")]
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct LinkRun {
    /// The link: TOML
    pub file: PathBuf,
    /// Seed of the random streams [default: the file's, or 1]
    #[arg(long, value_name = "N", value_parser = parse_seed)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub watch: Watch,
}

/// The properties of the two directions of the link.
#[derive(Debug, Args)]
#[command(next_help_heading = "The link")]
pub(crate) struct PathArgs {
    /// Rate, such as 10M, 256k or 1.5Gbit/s; trace:FILE, or steps:0s=10M/10s=2M,repeat=20s, for
    /// one that changes [default: none, packets do not wait]
    #[arg(long, value_name = "[up:|down:]RATE")]
    #[arg(value_parser = |s: &str| sided(s, parse_rate_over_time))]
    pub rate: Vec<Sided<OverTime>>,
    /// Delay one way, such as 40ms; steps:0s=20ms/5s=60ms,repeat=10s, or by satellites
    /// orbit:altitude_km=550,handover=15s
    #[arg(long, value_name = "[up:|down:]TIME")]
    #[arg(value_parser = |s: &str| sided(s, parse_delay_over_time))]
    pub delay: Vec<Sided<OverTime>>,
    /// The delay varies uniformly by up to this time, in both directions; without --reorder in order
    #[arg(long, value_name = "[up:|down:]TIME", value_parser = |s: &str| sided(s, parse_time))]
    pub jitter: Vec<Sided<Span>>,
    /// Packets with less jitter overtake others
    #[arg(long)]
    pub reorder: bool,
    /// The queue in front of the link and its settings [default: droptail, 100 packets]
    #[arg(long, value_name = "[up:|down:]KIND[:KEY=VALUE,...]")]
    #[arg(value_parser = |s: &str| sided(s, parse_queue))]
    pub aqm: Vec<Sided<Queue>>,
    /// Packets that the device takes from the queue ahead of the wire, as the time to send them
    #[arg(long, value_name = "[up:|down:]TIME", value_parser = |s: &str| sided(s, parse_time))]
    pub device_queue: Vec<Sided<Span>>,
    /// Token bucket behind the queue: packets beyond it wait, such as rate=5M,burst=30kB
    #[arg(long, value_name = "[up:|down:]rate=RATE,burst=SIZE")]
    #[arg(value_parser = |s: &str| sided(s, parse_shaper))]
    pub shaper: Vec<Sided<OverTime>>,
    /// Token bucket before the queue: packets beyond it are dropped
    #[arg(long, value_name = "[up:|down:]rate=RATE,burst=SIZE")]
    #[arg(value_parser = |s: &str| sided(s, parse_policer))]
    pub policer: Vec<Sided<OverTime>>,
    /// Jitter of Wi-Fi on a crowded channel, with this target of its mean, such as 7ms, or
    /// steps:0s=1ms/1s=12ms/3s=1ms; in order, also with --reorder
    #[arg(long, value_name = "[up:|down:]TIME")]
    #[arg(value_parser = |s: &str| sided(s, parse_wifi_jitter))]
    pub wifi_jitter: Vec<Sided<OverTime>>,
    /// Packets arrive in batches: wifi, lte, or interval=2ms, and if wanted max_interval=5ms,
    /// packets=32, bytes=64kB behind commas
    #[arg(long, value_name = "[up:|down:]KIND")]
    #[arg(value_parser = |s: &str| sided(s, parse_aggregation))]
    pub aggregation: Vec<Sided<OverTime>>,
    /// A time without a link: at=10s,lasts=2s, and if wanted every=30s; packets wait, or with
    /// lose=true are lost. May be given several times
    #[arg(long, value_name = "[up:|down:]at=TIME,lasts=TIME")]
    #[arg(value_parser = |s: &str| sided(s, parse_outage))]
    pub outage: Vec<Sided<OverTime>>,
    /// Loss behind the queue: a probability, or a KIND with its settings
    #[arg(long, value_name = "[up:|down:]LOSS", value_parser = |s: &str| sided(s, parse_loss))]
    pub loss: Vec<Sided<Loss>>,
    /// Probability that a packet arrives twice
    #[arg(long, value_name = "[up:|down:]P", value_parser = |s: &str| sided(s, parse_probability))]
    pub duplicate: Vec<Sided<f64>>,
    /// Probability that a bit of a packet is turned round
    #[arg(long, value_name = "[up:|down:]P", value_parser = |s: &str| sided(s, parse_probability))]
    pub corrupt: Vec<Sided<f64>>,
}

/// How to look on.
#[derive(Debug, Args)]
#[command(next_help_heading = "Looking on")]
pub(crate) struct Watch {
    /// Write queue, marks and drops of each path to a CSV file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Time between the lines of the log
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_time)]
    pub log_interval: Span,
    /// Figures as JSON: behind COMMAND one object to standard error at the end, else an object a
    /// line to standard output
    #[arg(long)]
    pub json: bool,
    /// Show rate, queue, marks and drops of each path in the terminal. The output of COMMAND is in a
    /// panel meanwhile, and follows as a whole at the end; its standard input is empty
    #[arg(long, conflicts_with = "json")]
    pub live: bool,
    /// Keep a core busy so close to the time of a packet, instead of sleeping: less late, more work
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    pub spin: Span,
}

impl PathArgs {
    /// The path up.
    pub(super) fn up(&self) -> PathConfig {
        self.path(Side::Up)
    }

    /// The path down.
    pub(super) fn down(&self) -> PathConfig {
        self.path(Side::Down)
    }

    fn path(&self, side: Side) -> PathConfig {
        let OverTime { rate, delay, variation } = self.over_time(side);
        PathConfig {
            rate,
            delay,
            variation,
            queue: last(&self.aqm, side).unwrap_or(PathConfig::default().queue),
            device_queue: last(&self.device_queue, side).unwrap_or_default(),
            jitter: last(&self.jitter, side).unwrap_or_default(),
            reorder: self.reorder,
            loss: last(&self.loss, side).unwrap_or_default(),
            duplicate: last(&self.duplicate, side).unwrap_or_default(),
            corrupt: last(&self.corrupt, side).unwrap_or_default(),
        }
    }

    fn over_time(&self, side: Side) -> OverTime {
        let of = |settings: &[Sided<OverTime>]| last(settings, side).unwrap_or_default();
        let (rate, delay) = (of(&self.rate), of(&self.delay));
        let variation = Variation {
            rate: rate.variation.rate,
            delay: delay.variation.delay,
            shaper: of(&self.shaper).variation.shaper,
            policer: of(&self.policer).variation.policer,
            wifi_jitter: of(&self.wifi_jitter).variation.wifi_jitter,
            aggregation: of(&self.aggregation).variation.aggregation,
            outages: all(&self.outage, side).flat_map(|outage| outage.variation.outages).collect(),
        };
        OverTime { rate: rate.rate, delay: delay.delay, variation }
    }
}
