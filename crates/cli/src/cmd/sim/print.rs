//! The figures of a run as tables for people. It reads the same JSON that `--json` prints, so that
//! single runs and replicates look alike: a figure is a number or `{"mean", "sd"}`.

use super::applications;
use super::column::Column;
use super::delays;
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::Value;
use std::collections::BTreeSet;
use windlass_scenario::{Document, Source};

/// The whole report.
pub(super) fn report(document: &Document, result: &Value) -> String {
    let mut parts = vec![heading(document, result)];
    let tables = [
        (&result["flows"], FLOWS),
        (&result["udp"], UDP),
        (&result["endpoints"], ENDPOINTS),
        (&result["queues"], QUEUES),
    ];
    for (rows, columns) in tables {
        parts.extend(table(rows, columns));
    }
    parts.extend(table(&delays::rows(result), delays::COLUMNS));
    parts.extend(
        applications::tables(result).iter().filter_map(|(rows, columns)| table(rows, columns)),
    );
    parts.push(totals(result));
    parts.extend(warnings(&result["warnings"]));
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
    let profile = match profiles(&result["flows"])[..] {
        [one] => format!("; profile {one}"),
        _ => String::new(),
    };
    lines.push(format!(
        "{seeds}; {} simulated, steady from {}{profile}",
        scenario.duration, scenario.steady_from
    ));
    lines.join("\n")
}

/// The different profiles of the flows.
fn profiles(flows: &Value) -> Vec<&str> {
    let flows = flows.as_array().into_iter().flatten();
    let names: BTreeSet<&str> = flows.filter_map(|flow| flow["profile"].as_str()).collect();
    names.into_iter().collect()
}

fn cited(source: &Source) -> String {
    let parts =
        [("section", &source.section), ("table", &source.table), ("figure", &source.figure)];
    let places =
        parts.into_iter().filter_map(|(what, place)| Some(format!(", {what} {}", place.as_ref()?)));
    format!("{}{}", source.paper, places.collect::<String>())
}

/// Packets that did not arrive, other than by the bottleneck's queue: shown where there are any.
const ELSEWHERE: Column = ("drops\nelsewhere", &["drops_elsewhere"], 0);
const POLICED: Column = ("policed", &["policed"], 0);
const LOST: Column = ("lost", &["lost"], 0);

/// Shown where flows differ in it; else the heading names it.
const PROFILE: Column = ("profile", &["profile"], 0);

/// The columns that fit 80 characters, unless packets were lost in many ways; `--json` has all figures.
const FLOWS: &[Column] = &[
    ("flow", &["name"], 0),
    PROFILE,
    ("control", &["controller"], 0),
    ("Mbit/s\nsteady", &["mbit_per_s", "steady"], 2),
    ("pkt/s\nsteady", PACKETS_PER_S, 1),
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
    ("Mbit/s\nsteady", &["mbit_per_s", "steady"], 2),
    ("pkt/s\nsteady", PACKETS_PER_S, 1),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    ELSEWHERE,
    POLICED,
    LOST,
    ("frames", &["media", "frames"], 0),
    ("missed\nshare", &["media", "miss_ratio"], 4),
];

const ENDPOINTS: &[Column] = &[
    ("endpoints", &["name"], 0),
    ("stack", &["stack"], 0),
    ("control", &["controller"], 0),
    ("Mbit/s\nsteady", &["goodput_mbit_per_s", "steady"], 2),
    ("cwnd\nbytes", &["cwnd_bytes", "time_mean"], 0),
    ("sRTT\nms", &["srtt_ms", "time_mean"], 1),
    ("marks", &["marks"], 0),
    ("drops", &["drops"], 0),
    ELSEWHERE,
    POLICED,
    LOST,
    ("done", &["transfers", "completed"], 0),
    ("each\ns", &["transfers", "mean_completion_s"], 3),
    ("failure", &["failure"], 0),
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
    let all = rows;
    let rows = rows.as_array().filter(|rows| !rows.is_empty())?;
    let replicates =
        rows.iter().any(|row| columns.iter().any(|(_, path, _)| is_mean(at(row, path))));
    let columns: Vec<&Column> = columns
        .iter()
        .filter(|(_, path, _)| !(replicates && LEFT_OUT.contains(path)))
        .filter(|column| **column != PROFILE || profiles(all).len() > 1)
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

const PACKETS_PER_S: &[&str] = &["packets_per_s", "steady"];

/// Left to `--json` with replicates, whose cells are twice as wide.
const LEFT_OUT: [&[&str]; 3] = [PACKETS_PER_S, delays::P90, delays::P99_9];

/// True for a figure of replicates.
fn is_mean(value: &Value) -> bool {
    value["mean"].is_number() && value["sd"].is_number()
}

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
        format!("                {} Mbit/s", windows("total_mbit_per_s", 2)),
        format!("utilisation     {}", windows("utilisation", 3)),
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

/// The warnings, one a line.
fn warnings(sentences: &Value) -> Option<String> {
    let sentences = sentences.as_array()?;
    let lines = sentences.iter().filter_map(Value::as_str);
    Some(lines.map(|sentence| format!("warning: {sentence}")).collect::<Vec<_>>().join("\n"))
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
    fn flows_of_one_profile_have_it_in_the_heading_and_others_a_column() {
        let flows = |second: &str| {
            json!([
                { "name": "a", "profile": "linux", "mbit_per_s": { "steady": 1.5 } },
                { "name": "b", "profile": second, "mbit_per_s": { "steady": 0.25 } },
            ])
        };
        let same = table(&flows("linux"), FLOWS).expect("rows");
        assert!(same.contains("1.50") && !same.contains("linux"), "{same}");
        assert_eq!(profiles(&flows("linux")), ["linux"]);
        let others = table(&flows("ns2-reno"), FLOWS).expect("rows");
        assert!(others.contains("linux") && others.contains("ns2-reno"), "{others}");
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
