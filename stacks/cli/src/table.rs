//! Tables and JSON documents.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value, json};
use windlass_evaluation::Interval;
use windlass_sim::summary::pretty;

/// A table; every column but the first is of numbers.
pub(crate) fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(head);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// A number, or `-`.
pub(crate) fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A mean with the ends of its interval.
pub(crate) fn interval(interval: &Interval, decimals: usize) -> String {
    let Interval { mean, low, high } = interval;
    format!("{mean:.decimals$} ({low:.decimals$} to {high:.decimals$})")
}

/// Prints a document of this kind.
pub(crate) fn json(kind: &str, body: &Value) {
    let mut document =
        Map::from_iter([("schema".to_owned(), json!(1)), ("kind".to_owned(), json!(kind))]);
    document.extend(body.as_object().cloned().unwrap_or_default());
    println!("{}", pretty(&Value::Object(document)));
}
