//! The figures of a run as tables for people. It reads the same JSON that `--json` prints, so that
//! single runs and replicates look alike: a figure is a number or `{"mean", "sd"}`.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::Value;
use windlass_sim::scenario::{Document, Source};

/// The whole report.
pub(super) fn report(document: &Document, result: &Value) -> String {
    let mut parts = vec![heading(document, result)];
    let tables = [(&result["flows"], FLOWS), (&result["udp"], UDP), (&result["queues"], QUEUES)];
    for (rows, columns) in tables {
        parts.extend(table(rows, columns));
    }
    parts.push(totals(result));
    parts.join("\n\n")
}

fn heading(document: &Document, result: &Value) -> String {
    let scenario = &document.scenario;
    let mut lines = vec![match scenario.description.as_str() {
        "" => scenario.name.clone(),
        description => format!("{}: {description}", scenario.name),
    }];
    lines.extend(document.source.as_ref().map(cited));
    let seeds = match result["seeds"].as_array() {
        Some(seeds) => {
            let (first, last) = (document.seed, document.seed.wrapping_add(seeds.len() as u64 - 1));
            lines.push("mean ± standard deviation of replicates".into());
            format!("{} replicates (seeds {first} to {last})", seeds.len())
        }
        None => format!("seed {}", document.seed),
    };
    lines.push(format!(
        "{seeds}; {} simulated, steady from {}",
        scenario.duration, scenario.steady_from
    ));
    lines.join("\n")
}

fn cited(source: &Source) -> String {
    let parts =
        [("section", &source.section), ("table", &source.table), ("figure", &source.figure)];
    let places =
        parts.into_iter().filter_map(|(what, place)| Some(format!(", {what} {}", place.as_ref()?)));
    format!("{}{}", source.paper, places.collect::<String>())
}

/// A column: its heading, the path of its value in a row, decimals.
type Column = (&'static str, &'static [&'static str], usize);

/// The columns that fit 80 characters; `--json` has all figures.
const FLOWS: &[Column] = &[
    ("flow", &["name"], 0),
    ("control", &["controller"], 0),
    ("pkt/s\nwhole", WHOLE_RUN, 1),
    ("pkt/s\nsteady", &["packets_per_s", "steady"], 1),
    ("cwnd\npkt", &["cwnd_packets", "trace_mean"], 2),
    ("sRTT\nms", &["srtt_ms", "trace_mean"], 1),
    ("slope", &["slope", "trace_mean"], 2),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    ("RTOs", &["timeouts"], 0),
    ("done", &["transfers", "completed"], 0),
    ("each\ns", &["transfers", "mean_completion_s"], 3),
];

const UDP: &[Column] = &[
    ("UDP", &["name"], 0),
    ("sent", &["sent"], 0),
    ("received", &["received"], 0),
    ("pkt/s\nwhole", WHOLE_RUN, 1),
    ("pkt/s\nsteady", &["packets_per_s", "steady"], 1),
    ("drops", &["drops"], 0),
    ("lost", &["lost"], 0),
];

const QUEUES: &[Column] = &[
    ("queue", &["link"], 0),
    ("direction", &["direction"], 0),
    ("arrived", &["arrived"], 0),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    ("mean\nwhole", &["mean_packets", "whole_run"], 2),
    ("mean\nsteady", &["mean_packets", "steady"], 2),
    ("most", &["max_packets"], 0),
    ("RED's\naverage", &["mean_average_packets", "whole_run"], 2),
];

/// A table of `rows`, without the columns in which no row has a value; `None` without rows.
fn table(rows: &Value, columns: &[Column]) -> Option<String> {
    let rows = rows.as_array().filter(|rows| !rows.is_empty())?;
    let replicates = rows.iter().any(|row| at(row, WHOLE_RUN).is_object());
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|(_, path, _)| !(replicates && *path == WHOLE_RUN))
        .filter(|column| rows.iter().any(|row| !cell(row, column).is_empty()))
        .collect();
    let gap = u16::from(!replicates);
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(line));
    table.set_header(columns.iter().map(|(heading, ..)| *heading));
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(row, column)));
    }
    for (index, (_, path, _)) in columns.iter().enumerate() {
        let is_number = rows.iter().any(|row| !at(row, path).is_string());
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, gap));
            if is_number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    Some(table.trim_fmt())
}

/// Left to `--json` with replicates, whose cells are twice as wide.
const WHOLE_RUN: &[&str] = &["packets_per_s", "whole_run"];

fn at<'a>(row: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(row, |value, key| &value[*key])
}

fn cell(row: &Value, (_, path, decimals): &Column) -> String {
    figure(at(row, path), *decimals)
}

/// `12.5`, or `12.5±0.3`; empty for what does not exist.
fn figure(value: &Value, decimals: usize) -> String {
    match value {
        Value::Number(number) => format!("{:.decimals$}", number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        Value::Object(_) => match (value["mean"].as_f64(), value["sd"].as_f64()) {
            (Some(mean), Some(sd)) => {
                let decimals = decimals_of_mean(mean, decimals);
                format!("{mean:.decimals$}±{sd:.decimals$}")
            }
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// No mean needs more than four digits or so; one of few counts has a fraction.
fn decimals_of_mean(mean: f64, decimals: usize) -> usize {
    match (mean, decimals) {
        (..10.0, _) => decimals.max(1),
        (10.0..100.0, 1..) => 1,
        _ => 0,
    }
}

fn totals(result: &Value) -> String {
    let windows = |key: &str, decimals| {
        let whole_run = figure(&result[key]["whole_run"], decimals);
        let steady = figure(&result[key]["steady"], decimals);
        if whole_run.is_empty() { "-".into() } else { format!("{whole_run} (steady {steady})") }
    };
    [
        format!("fairness index  {}", windows("fairness_index", 3)),
        format!("total           {} packets/s", windows("total_packets_per_s", 1)),
        format!(
            "bottleneck      {} packets, {} marks, {} drops",
            figure(&result["bottleneck_packets"], 0),
            figure(&result["marks"], 0),
            figure(&result["drops"], 0),
        ),
        format!("its queue       {} packets", windows("mean_queue_packets", 2)),
    ]
    .join("\n")
}
