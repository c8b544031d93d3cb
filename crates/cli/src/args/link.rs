//! The arguments of `windlass link`.

use crate::link::settings::{
    Sided, parse_loss, parse_port, parse_probability, parse_queue, parse_rate, parse_time, sided,
};
use crate::link::{LINK_HELP, PortArg, RUN_HELP};
use clap::{Args, Subcommand, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;
use windlass_aqm::Config as Queue;
use windlass_base::{BitRate, Span};
use windlass_link::Loss;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = LINK_HELP)]
pub(crate) struct Link {
    #[command(subcommand)]
    pub command: Option<LinkCommand>,
    #[command(flatten)]
    pub path: PathArgs,
    #[command(flatten)]
    pub watch: Watch,
    /// Seed of the random streams
    #[arg(long, value_name = "N", default_value_t = windlass_link::DEFAULT_SEED)]
    pub seed: u64,
    /// The largest IP packet in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    #[arg(value_parser = value_parser!(u32).range(68..=65_535))]
    pub mtu: u32,
    /// Join two TUN devices instead of running a command; to be given twice. up is from the first
    /// to the second
    #[arg(long, value_name = "NAME[@NAMESPACE][=ADDRESS/PREFIX]", value_parser = parse_port)]
    #[arg(conflicts_with_all = ["command_line", "outside"])]
    pub port: Vec<PortArg>,
    /// Run this on the other side of the link as long as COMMAND runs, by sh -c
    #[arg(long, value_name = "COMMAND")]
    pub outside: Option<OsString>,
    /// What to run behind the link
    #[arg(last = true, value_name = "COMMAND")]
    pub command_line: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Join the ports of a file: two or more TUN devices, each in a namespace if it says so
    #[command(after_help = RUN_HELP)]
    Run(LinkRun),
}

#[derive(Debug, Args)]
pub(crate) struct LinkRun {
    /// The link: TOML
    pub file: PathBuf,
    /// Seed of the random streams [default: the file's, or 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub watch: Watch,
}

/// What both directions of the link are like.
#[derive(Debug, Args)]
#[command(next_help_heading = "The link")]
pub(crate) struct PathArgs {
    /// Rate, such as 10M, 256k or 1.5Gbit/s [default: none, packets do not wait]
    #[arg(long, value_name = "[up:|down:]RATE", value_parser = |s: &str| sided(s, parse_rate))]
    pub rate: Vec<Sided<BitRate>>,
    /// Delay one way, such as 40ms
    #[arg(long, value_name = "[up:|down:]TIME", value_parser = |s: &str| sided(s, parse_time))]
    pub delay: Vec<Sided<Span>>,
    /// The delay varies uniformly by up to so much, both ways; without --reorder in order
    #[arg(long, value_name = "[up:|down:]TIME", value_parser = |s: &str| sided(s, parse_time))]
    pub jitter: Vec<Sided<Span>>,
    /// Packets with less jitter overtake others
    #[arg(long)]
    pub reorder: bool,
    /// The queue in front of the link and its settings [default: droptail, 100 packets]
    #[arg(long, value_name = "[up:|down:]KIND[:KEY=VALUE,...]")]
    #[arg(value_parser = |s: &str| sided(s, parse_queue))]
    pub aqm: Vec<Sided<Queue>>,
    /// What the device takes from the queue ahead of the wire: as much as it sends in this time
    #[arg(long, value_name = "[up:|down:]TIME", value_parser = |s: &str| sided(s, parse_time))]
    pub device_queue: Vec<Sided<Span>>,
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
    /// Keep a core busy so close to the time of a packet, instead of sleeping: less late, more work
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_time)]
    pub spin: Span,
}
