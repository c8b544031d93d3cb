//! `windlass split-ack -- COMMAND`.

use super::args::SplitAck;
use super::compare::{Pair, pairs};
use super::measured::Measured;
use super::print;
use crate::envelope::Document;
use crate::failure::{self, Failure};
use crate::output_file::OutputFile;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use windlass_probe::PARTS_POLITE;
use windlass_split_ack::{
    Cgroup, Hook, NOT_FOUND, Runner, Settings, Splitter, Streams, check_capabilities, status_after,
};

/// As env(1), nice(1) and timeout(1) have it.
const OWN_FAILURE: u8 = 125;

/// The body of the JSON report.
#[derive(Serialize)]
struct Report<'a> {
    split: u32,
    acks: u32,
    interfaces: &'a [String],
    hook: Hook,
    #[serde(flatten)]
    measured: &'a Measured,
    #[serde(flatten)]
    compared: Option<Compared<'a>>,
}

/// Results that `--baseline` adds to the output.
#[derive(Serialize)]
struct Compared<'a> {
    baseline: &'a Measured,
    pairs: &'a [Pair],
}

/// Why there is no report.
enum Stop {
    /// The command could not be started, or the baseline was not usable: the exit status.
    Status(u8),
    /// split-ack itself failed.
    Failure(String),
}

impl From<windlass_split_ack::Error> for Stop {
    fn from(error: windlass_split_ack::Error) -> Stop {
        Stop::Failure(error.to_string())
    }
}

/// Runs `windlass split-ack`; returns the exit status.
pub(crate) fn main(args: &SplitAck) -> Result<ExitCode, Failure> {
    let code = work(args).unwrap_or_else(|stop| match stop {
        Stop::Status(status) => status,
        Stop::Failure(message) => {
            failure::error(format!("split-ack: {message}"));
            OWN_FAILURE
        }
    });
    Ok(ExitCode::from(code))
}

fn work(args: &SplitAck) -> Result<u8, Stop> {
    if args.split > u32::from(PARTS_POLITE) && !args.force {
        return Err(Stop::Failure(format!(
            "--split {}: more than {PARTS_POLITE} ACKs for one burden the server and the path; \
             --force says that you mean it",
            args.split
        )));
    }
    // Before the command runs: a report that cannot be written should not come as a surprise after.
    let file =
        args.report.as_ref().map(|path| OutputFile::replace(path).map_err(at(path.display())));
    let file = file.transpose()?;
    check_capabilities()?;
    let runner = Runner::new()?;
    let baseline = match args.baseline {
        true => Some(usable(measure(args, 1, Streams::ErrorOnly, &runner)?)?),
        false => None,
    };
    let measured = measure(args, args.split, Streams::Inherited, &runner)?;
    let text = report(args, baseline.as_ref(), &measured);
    let written = match file {
        Some(mut file) => writeln!(file, "{text}").and_then(|()| file.finish()),
        None => writeln!(io::stderr(), "{text}"),
    };
    written.map_err(at("the report"))?;
    Ok(measured.exit_status)
}

/// Runs the command once.
fn measure(
    args: &SplitAck,
    split: u32,
    streams: Streams,
    runner: &Runner,
) -> Result<Measured, Stop> {
    let settings = Settings {
        split,
        acks: args.acks,
        interfaces: args.interface.clone(),
        clsact: args.clsact,
        rounds: args.rounds || args.baseline,
    };
    // Dropped in the other order: the programs first.
    let cgroup = Cgroup::new()?;
    let mut splitter = Splitter::new(&settings, &cgroup)?;
    let ended = runner.run(&args.command_line, streams, &cgroup, &mut splitter)?;
    for trouble in splitter.troubles() {
        failure::error(format!("split-ack: its ACKs are not split at {trouble}"));
    }
    if let Some(error) = ended.error {
        let name = args.command_line.first().map(|name| name.display().to_string());
        let name = name.unwrap_or_default();
        match ended.status {
            NOT_FOUND => failure::error(format!("split-ack: {name}: no such command")),
            _ => failure::error(format!("split-ack: {name}: {error}")),
        }
        return Err(Stop::Status(ended.status));
    }
    Ok(Measured {
        exit_status: ended.status,
        connections: splitter.connections()?,
        packets_missed: splitter.missed()?,
        interfaces: splitter.interfaces().map(str::to_owned).collect(),
        hook: splitter.hook(),
        asked: ended.asked.map(status_after),
    })
}

/// The baseline, if the command is to run again after it.
fn usable(baseline: Measured) -> Result<Measured, Stop> {
    match (baseline.exit_status, baseline.asked) {
        (0, None) => Ok(baseline),
        (0, Some(status)) | (status, Some(_)) => Err(Stop::Status(status)),
        (status, None) => {
            let what = "without splitting the command failed, so it was not run again";
            failure::error(format!("split-ack: {what} (exit status {status})"));
            Err(Stop::Status(status))
        }
    }
}

fn report(args: &SplitAck, baseline: Option<&Measured>, measured: &Measured) -> String {
    let pairs = baseline.map(|baseline| pairs(&baseline.connections, &measured.connections));
    let compared = baseline.zip(pairs.as_deref());
    if !args.json {
        return match compared {
            Some((baseline, pairs)) => print::comparison(baseline, measured, args.split, pairs),
            None => print::text(measured),
        };
    }
    let report = Report {
        split: args.split,
        acks: args.acks,
        interfaces: &measured.interfaces,
        hook: measured.hook,
        measured,
        compared: compared.map(|(baseline, pairs)| Compared { baseline, pairs }),
    };
    Document::new("split-ack.connections", &report).line()
}

fn at(what: impl Display) -> impl Fn(io::Error) -> Stop {
    move |error| Stop::Failure(format!("{what}: {error}"))
}
