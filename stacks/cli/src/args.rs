//! The arguments of the command.

use crate::contender::{self, Contender};
use clap::{Parser, Subcommand};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use windlass_drill::IpVersion;

/// Transports of other projects in Windlass's simulator.
#[derive(Debug, Parser)]
#[command(name = "windlass-stacks")]
pub struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario file whose endpoints may be any of these transports.
    Run(Run),
    /// Let each pair of transports and controllers share a link: shares and Jain's index.
    Matrix(Matrix),
    /// Compare start-up, the repair of losses and what follows an idle time.
    Compare(Compare),
    /// Judge a stack by the clauses of RFCs and drafts.
    Judge(Judge),
    /// Run packetdrill's scripts against a stack.
    Drill(Drill),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Judge {
    /// smoltcp, quinn, noq or s2n, with a controller or its CUBIC; smoltcp+timestamps offers timestamps.
    #[arg(value_name = "STACK[:CONTROLLER]")]
    pub(crate) stack: String,
    /// All cases of this suite; may be given several times. Default: those of all suites that concern the controller.
    #[arg(long, value_name = "NAME")]
    pub(crate) suite: Vec<String>,
    /// Cases with such a name alone; * and ? stand for other letters.
    #[arg(long, value_name = "GLOB")]
    pub(crate) case: Option<String>,
    /// Cases at a time; default: as many as there are cores.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) files: Files,
}

/// The files of a judgement.
#[derive(Debug, clap::Args)]
pub(crate) struct Files {
    /// Write the outcomes into this file, as the XML of JUnit.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write a page of HTML with a plot of each case into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,
    /// Write the packets of each failed case into this directory, as qlog.
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// Write the packets of each failed case into this directory, as pcapng.
    #[arg(long, value_name = "DIR")]
    pub(crate) pcap: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Drill {
    /// Scripts, or folders with them.
    #[arg(required = true, value_name = "SCRIPT")]
    pub(crate) scripts: Vec<PathBuf>,
    /// smoltcp, with a controller or its CUBIC.
    #[arg(long, default_value = "smoltcp", value_name = "STACK[:CONTROLLER]")]
    pub(crate) subject: String,
    /// The version of IP of scripts that name none.
    #[arg(long, value_name = "VERSION", default_value = "ipv4")]
    pub(crate) ip_version: IpVersion,
    /// How far a time may be off, in microseconds; default: the script's, or 4000.
    #[arg(long, value_name = "N")]
    pub(crate) tolerance_usecs: Option<u64>,
    /// Let VALUE stand for NAME in the scripts; may be given several times.
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub(crate) definitions: Vec<String>,
    /// Scripts run one at a time, whatever this is.
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the outcomes into this file, as the XML of JUnit.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the packets of one script into this file, as pcapng.
    #[arg(long, value_name = "FILE")]
    pub(crate) capture: Option<PathBuf>,
    /// Write the packets of one script into this file, as qlog.
    #[arg(long, value_name = "FILE")]
    pub(crate) qlog: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// The scenario, in TOML.
    pub(crate) file: PathBuf,
    /// Change a key of it, as in `endpoints.0.stack="noq"`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed, in place of the scenario's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the whole summary as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the summary and the time series into this folder, which must not exist yet.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Matrix {
    #[command(flatten)]
    pub(crate) path: Shared,
    /// The length of a run in seconds.
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Where the window begins of which goodputs count, in seconds.
    #[arg(long, default_value_t = 20.0)]
    pub(crate) steady_from: f64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The aspect to compare; default: all.
    #[arg(long, value_enum)]
    pub(crate) only: Option<Aspect>,
    #[command(flatten)]
    pub(crate) path: Shared,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Aspect {
    /// The beginning of a connection.
    StartUp,
    /// The repair of losses.
    Loss,
    /// After an idle time.
    Idle,
}

/// The contenders, their path and the number of runs.
#[derive(Clone, Debug, Serialize, clap::Args)]
pub(crate) struct Shared {
    /// STACK/CONTROLLER, such as quinn/cubic or tcp/bbr3 (Windlass's own TCP); default: all.
    #[serde(skip)]
    contenders: Vec<String>,
    /// The rate of the link.
    #[arg(long, default_value = "20Mbit/s")]
    pub(crate) rate: String,
    /// The round-trip time without queues, in milliseconds.
    #[arg(long, default_value_t = 40.0)]
    pub(crate) rtt: f64,
    /// The queue in front of the link, as a TOML value.
    #[arg(long, default_value = r#"{ kind = "droptail", limit = "100kB" }"#)]
    pub(crate) queue: String,
    /// Runs of each comparison, with seeds from 1 on.
    #[arg(long, default_value_t = 5)]
    pub(crate) runs: u64,
    /// Print JSON.
    #[arg(long)]
    #[serde(skip)]
    pub(crate) json: bool,
}

impl Shared {
    /// The contenders, those named or all.
    pub(crate) fn contenders(&self) -> Result<Vec<Contender>, String> {
        if !(self.rtt >= 4.0 && self.rtt.is_finite()) {
            return Err("expected a round-trip time of at least 4 ms".to_owned());
        }
        match self.contenders.is_empty() {
            true => contender::DEFAULT.iter().map(|name| name.parse()).collect(),
            false => self.contenders.iter().map(|name| name.parse()).collect(),
        }
    }
}
