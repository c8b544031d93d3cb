//! The figures of a run as tables for people. It reads the same JSON that `--json` prints, so that
//! single runs and replicates look alike: a figure is a number or `{"mean", "sd"}`.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::Value;
use windlass_scenario::{Document, Source};

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

/// Packets that did not arrive, other than by the bottleneck's queue: shown where there are any.
const ELSEWHERE: Column = ("drops\nelsewhere", &["drops_elsewhere"], 0);
const POLICED: Column = ("policed", &["policed"], 0);
const LOST: Column = ("lost", &["lost"], 0);

/// The columns that fit 80 characters, unless packets were lost in many ways; `--json` has all figures.
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
    ELSEWHERE,
    POLICED,
    LOST,
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
    ELSEWHERE,
    POLICED,
    LOST,
];

const QUEUES: &[Column] = &[
    ("queue", &["link"], 0),
    ("direction", &["direction"], 0),
    ("arrived", &["arrived"], 0),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    POLICED,
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
        .filter(|column| !SHOWN_IF_ANY.contains(column) || rows.iter().any(|row| any(row, column)))
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

/// Columns of counts that are mostly zero.
const SHOWN_IF_ANY: [Column; 2] = [ELSEWHERE, LOST];

/// True if the count, or its mean over replicates, is above zero.
fn any(row: &Value, (_, path, _): &Column) -> bool {
    let count = at(row, path);
    count.as_f64().or(count["mean"].as_f64()).is_some_and(|count| count > 0.0)
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
        Value::Number(number) => fixed(number.as_f64().unwrap_or(f64::NAN), decimals),
        Value::String(text) => text.clone(),
        Value::Object(_) => match (value["mean"].as_f64(), value["sd"].as_f64()) {
            (Some(mean), Some(sd)) => {
                let decimals = decimals_of_mean(mean, decimals);
                format!("{}±{}", fixed(mean, decimals), fixed(sd, decimals))
            }
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// The number without the sign of a zero.
fn fixed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if !digits.contains(|digit: char| ('1'..='9').contains(&digit)) => {
            digits.to_owned()
        }
        _ => text,
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
            "bottleneck      {} packets, {} marks, {} drops{}",
            figure(&result["bottleneck_packets"], 0),
            figure(&result["marks"], 0),
            figure(&result["drops"], 0),
            match &result["policed"] {
                Value::Null => String::new(),
                policed => format!(", {} policed before it", figure(policed, 0)),
            },
        ),
        format!("its queue       {} packets", windows("mean_queue_packets", 2)),
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_that_rounds_to_zero_has_no_sign() {
        assert_eq!(fixed(-0.0, 1), "0.0");
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-0.06, 1), "-0.1");
        assert_eq!(fixed(-10.0, 0), "-10");
    }

    #[test]
    fn packets_that_did_not_arrive_are_shown_by_what_became_of_them() {
        let flow = |elsewhere: u32, lost: u32| {
            let policed = json!(70);
            json!([{ "name": "f", "drops": 0, "drops_elsewhere": elsewhere, "policed": policed, "lost": lost }])
        };
        let heading = |rows: &Value| table(rows, FLOWS).expect("a row").replace('\n', " ");
        let plain = heading(&flow(0, 0));
        assert!(plain.contains("policed") && plain.contains("70"), "{plain}");
        assert!(!plain.contains("lost") && !plain.contains("elsewhere"), "{plain}");
        let all = heading(&flow(3, 4));
        assert!(all.contains("lost") && all.contains("elsewhere"), "{all}");
        let mean = json!([{ "name": "f", "lost": { "mean": 0.5, "sd": 0.1 } }]);
        assert!(heading(&mean).contains("lost"));
        let bottleneck = json!({ "bottleneck_packets": 9, "marks": 0, "drops": 0, "policed": 70 });
        assert!(totals(&bottleneck).contains("9 packets, 0 marks, 0 drops, 70 policed before it"));
    }
}
