//! After an idle time: responses in a row, and responses ten seconds apart.

use super::{Row, alone, run};
use crate::args::Shared;
use crate::bed::Outcome;
use crate::contender::Contender;
use crate::table::{shown, table};
use serde::Serialize;
use windlass_base::{Span, Time};

/// Bytes of a response.
const RESPONSE: u64 = 500_000;
const COUNT: usize = 6;
/// Responses whose times do not count: the window still grows.
const SKIPPED: usize = 2;
const PAUSE_S: f64 = 10.0;
/// Packets that leave the sender so soon after its first one count as its burst.
const BURST: Span = Span::from_millis(5);

/// A contender after an idle time.
#[derive(Debug, Serialize)]
pub(super) struct Idle {
    /// The mean time of the third to the sixth response of 500 kB, one directly after the other.
    in_a_row_s: Option<f64>,
    /// The same with ten seconds before each request; `null`: not all completed.
    after_idle_s: Option<f64>,
    /// Bytes on the wire that leave the sender in the first 5 ms of such a response, the largest.
    burst_bytes: u64,
    /// Packets that the queue drops when responses are ten seconds apart.
    drops: u64,
}

pub(super) fn figures(path: &Shared, contender: &Contender) -> Result<Idle, String> {
    let outcome = |pause_s: f64| {
        let app = format!(
            "{{ kind = \"requests\", response = \"{RESPONSE}B\", think = \"{pause_s}s\", count = {COUNT} }}"
        );
        run(&alone(path, &app, 300.0), contender)
    };
    let (in_a_row, idle) = (outcome(0.0)?, outcome(PAUSE_S)?);
    Ok(Idle {
        in_a_row_s: mean(&in_a_row),
        after_idle_s: mean(&idle),
        burst_bytes: burst(&idle),
        drops: idle.summary.drops,
    })
}

/// The responses that count.
fn counted(outcome: &Outcome) -> &[(Time, Time)] {
    outcome.watch.transfers.get(SKIPPED..COUNT).unwrap_or_default()
}

fn mean(outcome: &Outcome) -> Option<f64> {
    let responses = counted(outcome);
    let sum: f64 = responses.iter().map(|(begun, done)| (*done - *begun).as_secs_f64()).sum();
    (!responses.is_empty()).then(|| sum / responses.len() as f64)
}

/// The largest burst at the beginning of a response.
fn burst(outcome: &Outcome) -> u64 {
    let left = &outcome.watch.left[0];
    let of_response = |(begun, _): &(Time, Time)| {
        // The first packet after the request may be its acknowledgment alone.
        let begin = left.iter().find(|sent| sent.at >= *begun && sent.bytes > 1_000)?.at;
        let sent = left.iter().filter(|sent| sent.at >= begin && sent.at < begin + BURST);
        Some(sent.map(|sent| u64::from(sent.bytes)).sum())
    };
    counted(outcome).iter().filter_map(of_response).max().unwrap_or(0)
}

pub(super) fn text(rows: &[Row<Idle>]) -> String {
    let head = ["idle", "in a row s", "after 10 s s", "burst B", "drops"];
    let row = |row: &Row<Idle>| {
        let figures = &row.figures;
        vec![
            row.contender.clone(),
            shown(figures.in_a_row_s, 3),
            shown(figures.after_idle_s, 3),
            figures.burst_bytes.to_string(),
            figures.drops.to_string(),
        ]
    };
    table(&head.map(String::from), &rows.iter().map(row).collect::<Vec<_>>())
}
