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
            format!(
                "{} replicates (seeds {first} to {last}), mean ± standard deviation",
                seeds.len()
            )
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

const FLOWS: &[Column] = &[
    ("flow", &["name"], 0),
    ("controller", &["controller"], 0),
    ("RTT min\nms", &["rtt_min_ms"], 0),
    ("packets/s\nwhole run", &["packets_per_s", "whole_run"], 1),
    ("packets/s\nsteady", &["packets_per_s", "steady"], 1),
    ("cwnd\npackets", &["cwnd_packets", "trace_mean"], 2),
    ("sRTT\nms", &["srtt_ms", "trace_mean"], 1),
    ("slope", &["slope", "trace_mean"], 3),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    ("timeouts", &["timeouts"], 0),
    ("fast\nretransmits", &["fast_retransmits"], 0),
    ("transfers", &["transfers", "completed"], 0),
    ("completion\ns", &["transfers", "mean_completion_s"], 3),
];

const UDP: &[Column] = &[
    ("UDP source", &["name"], 0),
    ("sent", &["sent"], 0),
    ("received", &["received"], 0),
    ("packets/s\nwhole run", &["packets_per_s", "whole_run"], 1),
    ("packets/s\nsteady", &["packets_per_s", "steady"], 1),
    ("drops", &["drops"], 0),
    ("lost", &["lost"], 0),
];

const QUEUES: &[Column] = &[
    ("queue", &["link"], 0),
    ("direction", &["direction"], 0),
    ("arrived", &["arrived"], 0),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    ("mean packets\nwhole run", &["mean_packets", "whole_run"], 2),
    ("mean packets\nsteady", &["mean_packets", "steady"], 2),
    ("most\npackets", &["max_packets"], 0),
    ("mean average\nwhole run", &["mean_average_packets", "whole_run"], 2),
];

/// A table of `rows`, without the columns in which no row has a value; `None` without rows.
fn table(rows: &Value, columns: &[Column]) -> Option<String> {
    let rows = rows.as_array().filter(|rows| !rows.is_empty())?;
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|column| rows.iter().any(|row| !cell(row, column).is_empty()))
        .collect();
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(line));
    table.set_header(columns.iter().map(|(heading, ..)| *heading));
    for row in rows {
        table.add_row(columns.iter().map(|column| cell(row, column)));
    }
    for (index, (_, path, _)) in columns.iter().enumerate() {
        let is_number = rows.iter().any(|row| !at(row, path).is_string());
        if let (true, Some(column)) = (is_number, table.column_mut(index)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    Some(table.to_string())
}

fn at<'a>(row: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(row, |value, key| &value[*key])
}

fn cell(row: &Value, (_, path, decimals): &Column) -> String {
    figure(at(row, path), *decimals)
}

/// `12.5`, or `12.5 ± 0.3`; empty for what does not exist.
fn figure(value: &Value, decimals: usize) -> String {
    match value {
        Value::Number(number) => format!("{:.decimals$}", number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => text.clone(),
        Value::Object(_) => match (value["mean"].as_f64(), value["sd"].as_f64()) {
            (Some(mean), Some(sd)) => {
                // A mean of counts has a fraction.
                let decimals = decimals.max(1);
                format!("{mean:.decimals$} ± {sd:.decimals$}")
            }
            _ => String::new(),
        },
        _ => String::new(),
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
            "bottleneck      {} packets, {} marks, {} drops, queue {} packets",
            figure(&result["bottleneck_packets"], 0),
            figure(&result["marks"], 0),
            figure(&result["drops"], 0),
            windows("mean_queue_packets", 2)
        ),
    ]
    .join("\n")
}
