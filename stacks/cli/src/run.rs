//! `windlass-stacks run`: one run of a scenario.

use crate::args::Run;
use crate::registry;
use serde_json::json;
use std::fmt::Write;
use std::fs;
use windlass_scenario::Document;
use windlass_sim::summary::{EndpointSummary, pretty};
use windlass_sim::{Summary, run};
use windlass_stacks_seeded::on_seeded_thread;

pub(crate) fn main(args: &Run) -> Result<(), String> {
    let document = load(args)?;
    let seed = args.seed.unwrap_or(document.seed);
    let scenario = &document.scenario;
    let summary = on_seeded_thread(seed, || run(scenario, seed, &mut ()));
    let summary = summary.map_err(|error| error.to_string())?;
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
