//! `windlass sim run`: one run or replicates of a scenario, printed, watched, or written to a directory.

use super::args::Run;
use super::live::{self, Sampling};
use super::output::{
    Output, column_series, create, csv_series, failure, finish_csv, write_parquet,
};
use super::qlog::QlogFiles;
use super::{load, print, threads};
use crate::envelope;
use crate::failure::Failure;
use crate::output_dir::OutputDir;
use crate::{interrupt, parallel, progress_bar, stdout};
use serde_json::{Value, json};
use std::fs;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use windlass_scenario::Document;
use windlass_sim::pcapng::Captures;
use windlass_sim::{BuildError, Recorder, Scenario, Summary};

/// Runs the scenario and prints, or writes, what came out.
pub(super) fn main(args: &Run) -> Result<(), Failure> {
    if args.live {
        crate::live::check()?;
    }
    if args.parquet && !cfg!(feature = "parquet") {
        let lacks = "this build of windlass writes no Parquet (Cargo's feature parquet)";
        return Err(Failure::Input(lacks.to_owned()));
    }
    let mut document = load::file(&args.file, &args.changes.set).map_err(Failure::Input)?;
    document.seed = args.changes.seed.unwrap_or(document.seed);
    document.scenario.jitter = args.changes.jitter.unwrap_or(document.scenario.jitter);
    interrupt::watch();
    let output = args.out.as_deref().map(OutputDir::create).transpose()?;
    let written = output.as_ref().map(|output| Output {
        folder: output.path(),
        queues: !args.flows_only,
        parquet: args.parquet,
        pcap: args.pcap,
        qlog: args.qlog,
    });
    let result = match args.replicates {
        None if args.live => json!(simulate_live(&document, args.speed, written)?),
        None => json!(once(&document, args.threads, written)?),
        Some(count) => replicates(&document, count.get() as u64, args, written)?,
    };
    if let Some(Output { folder, .. }) = written {
        write_summary(folder, &result)?;
    }
    if let Some(output) = output {
        output.finish()?;
    }
    if args.json {
        stdout::line(&envelope::pretty(&result))
    } else {
        stdout::line(&print::report(&document, &result))
    }
}

/// Runs once, on several threads if they are asked for and pay.
fn once(
    document: &Document,
    threads: Option<NonZeroUsize>,
    output: Option<Output<'_>>,
) -> Result<Summary, Failure> {
    let Document { scenario, seed, .. } = document;
    if let Some(threads) = threads
        && let Some(summary) = threads::simulate(scenario, *seed, threads, output)?
    {
        return Ok(summary);
    }
    simulate(scenario, *seed, output, None)
}

/// Runs with seeds in a row and gives means and standard deviations.
fn replicates(
    document: &Document,
    count: u64,
    args: &Run,
    output: Option<Output<'_>>,
) -> Result<Value, Failure> {
    let seeds = (0..count).map(|n| document.seed.wrapping_add(n));
    let bar = progress_bar::bar(count, "runs");
    let mut summaries: Vec<Summary> = Vec::new();
    let mut failure = None;
    parallel::map_in_order(
        seeds,
        parallel::jobs(args.jobs),
        |seed| {
            let summary = replicate(&document.scenario, seed, output);
            bar.inc(1);
            summary
        },
        |summary| match summary {
            Ok(summary) => {
                summaries.push(summary);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        },
    );
    bar.finish_and_clear();
    match failure {
        Some(failure) => Err(failure),
        None => Ok(windlass_sim::aggregate(&summaries)),
    }
}

fn replicate(
    scenario: &Scenario,
    seed: u64,
    output: Option<Output<'_>>,
) -> Result<Summary, Failure> {
    let Some(output) = output else { return simulate(scenario, seed, None, None) };
    let folder = &output.folder.join(format!("seed-{seed}"));
    fs::create_dir(folder).map_err(|error| Failure::io(folder.display(), &error))?;
    let summary = simulate(scenario, seed, Some(Output { folder, ..output }), None)?;
    write_summary(folder, &json!(summary))?;
    Ok(summary)
}

/// Runs once while the terminal shows it, until the user ends the view.
fn simulate_live(
    document: &Document,
    speed: Option<f64>,
    output: Option<Output<'_>>,
) -> Result<Summary, Failure> {
    let scenario = &document.scenario;
    let view = live::start(scenario, document.seed)?;
    let mut sampling = Sampling::new(scenario, speed, |sample| view.show(sample));
    let summary = simulate(scenario, document.seed, output, Some(&mut sampling))?;
    sampling.finish(scenario.until_done);
    view.stay();
    Ok(summary)
}

/// Runs once with a recorder of the caller's; into the output's folder, if there is one, go time series
/// and captures.
fn simulate(
    scenario: &Scenario,
    seed: u64,
    output: Option<Output<'_>>,
    recorder: Option<&mut dyn Recorder>,
) -> Result<Summary, Failure> {
    let Some(output) = output else {
        return match recorder {
            Some(recorder) => windlass_sim::run_recorded(scenario, seed, recorder),
            None => windlass_sim::run_unrecorded(scenario, seed),
        }
        .map_err(refused);
    };
    if output.parquet {
        let mut all = (column_series(scenario, output), recorder);
        let summary = record(scenario, seed, output, &mut all)?;
        write_parquet(output, all.0)?;
        return Ok(summary);
    }
    let mut all = (csv_series(scenario, output)?, recorder);
    let summary = record(scenario, seed, output, &mut all)?;
    finish_csv(all.0)?;
    Ok(summary)
}

/// Runs once, with captures and qlog if they are wanted; the time series are still to be finished.
fn record(
    scenario: &Scenario,
    seed: u64,
    Output { folder, pcap, qlog, .. }: Output<'_>,
    series: &mut dyn Recorder,
) -> Result<Summary, Failure> {
    if !pcap && !qlog {
        return windlass_sim::run_recorded(scenario, seed, series).map_err(refused);
    }
    let open = |name: &str| create(folder, name, "pcapng").map(BufWriter::new);
    let captures = pcap.then(|| Captures::new(scenario, open)).transpose().map_err(failure)?;
    let open = |name: &str| create(folder, name, "sqlog");
    let logs = qlog.then(|| QlogFiles::new(scenario, open));
    let mut all = (series, (captures, logs));
    let summary = windlass_sim::run_recorded(scenario, seed, &mut all).map_err(refused)?;
    let (_, (captures, logs)) = all;
    captures.map_or(Ok(()), Captures::finish).map_err(failure)?;
    logs.map_or(Ok(()), QlogFiles::finish).map_err(failure)?;
    Ok(summary)
}

fn refused(error: BuildError) -> Failure {
    Failure::Input(error.to_string())
}

fn write_summary(folder: &Path, summary: &Value) -> Result<(), Failure> {
    let path = folder.join("summary.json");
    fs::write(&path, envelope::pretty(summary) + "\n")
        .map_err(|error| Failure::io("summary.json", &error))
}
