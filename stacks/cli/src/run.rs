//! `windlass-stacks run`: one run of a scenario.

use crate::args::Run;
use crate::registry;
use serde_json::json;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use windlass_scenario::Document;
use windlass_sim::series::csv::CsvSeries;
use windlass_sim::series::endpoints::EndpointSeries;
use windlass_sim::summary::{EndpointSummary, pretty};
use windlass_sim::{Recorder, Scenario, Summary, run};
use windlass_stacks_seeded::on_seeded_thread;

pub(crate) fn main(args: &Run) -> Result<(), String> {
    let document = load(args)?;
    let seed = args.seed.unwrap_or(document.seed);
    let summary = match &args.out {
        None => simulate(&document.scenario, seed, &mut ())?,
        Some(folder) => record(&document.scenario, seed, folder)?,
    };
    if args.json {
        println!("{}", pretty(&json!(summary)));
    } else {
        print!("{}", report(&summary));
    }
    Ok(())
}

fn load(args: &Run) -> Result<Document, String> {
    let file = args.file.display().to_string();
    let text = fs::read_to_string(&args.file).map_err(|error| format!("{file}: {error}"))?;
    registry().read_toml(&file, &text, &args.set).map_err(|problems| problems.to_string())
}

/// Runs on a thread of its own: some transports draw from the thread's randomness.
fn simulate<R: Recorder + Send>(
    scenario: &Scenario,
    seed: u64,
    recorder: &mut R,
) -> Result<Summary, String> {
    let summary = on_seeded_thread(seed, || run(scenario, seed, recorder));
    summary.map_err(|error| error.to_string())
}

/// Runs, and writes summary and time series into a new folder.
fn record(scenario: &Scenario, seed: u64, folder: &Path) -> Result<Summary, String> {
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir(folder).map_err(failed)?;
    let open = |name: &str| File::create_new(folder.join(format!("{name}.csv")));
    let flows = CsvSeries::new(scenario, open).map_err(failed)?;
    let endpoints = EndpointSeries::new(scenario, true, open).map_err(failed)?;
    let mut series = (flows, endpoints);
    let summary = simulate(scenario, seed, &mut series)?;
    let (flows, endpoints) = series;
    flows.finish().and_then(|()| endpoints.finish()).map_err(failed)?;
    let text = pretty(&json!(summary)) + "\n";
    fs::write(folder.join("summary.json"), text).map_err(failed)?;
    Ok(summary)
}

/// A line for each flow.
fn report(summary: &Summary) -> String {
    let mut text = format!(
        "{}: seed {}; {} s simulated, steady from {} s\n\n",
        summary.name, summary.seed, summary.duration_s, summary.steady_from_s
    );
    let width = 24;
    let _ = writeln!(
        text,
        "{:width$} {:>14} {:>14} {:>9} {:>9} {:>9} {:>9}",
        "flow", "stack", "controller", "Mbit/s", "sRTT ms", "drops", "lost"
    );
    for flow in &summary.flows {
        let rate = flow.mbit_per_s.steady;
        let srtt = shown(flow.srtt_ms.time_mean);
        let (drops, lost) = (flow.drops + flow.drops_elsewhere, flow.lost);
        let _ = writeln!(
            text,
            "{:width$} {:>14} {:>14} {rate:>9.3} {srtt:>9} {drops:>9} {lost:>9}",
            flow.name, "windlass", flow.controller
        );
    }
    for flow in &summary.endpoints {
        text.push_str(&endpoint(flow, width));
    }
    text
}

fn endpoint(flow: &EndpointSummary, width: usize) -> String {
    let rate = flow.goodput_mbit_per_s.steady;
    let srtt = shown(flow.srtt_ms.time_mean);
    let (drops, lost) = (flow.drops + flow.drops_elsewhere, flow.lost);
    let mut line = format!(
        "{:width$} {:>14} {:>14} {rate:>9.3} {srtt:>9} {drops:>9} {lost:>9}\n",
        flow.name, flow.stack, flow.controller
    );
    if let Some(reason) = &flow.failure {
        let _ = writeln!(line, "{:width$} failed: {reason}", "");
    }
    line
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}
