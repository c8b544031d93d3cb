//! The beginning of a connection on an idle path.

use super::{Row, alone, run};
use crate::args::Shared;
use crate::bed::Outcome;
use crate::contender::Contender;
use crate::table::{shown, table};
use serde::Serialize;
use std::slice;
use windlass_base::{Span, Time};

/// How long the bulk flow runs.
const SECONDS: f64 = 5.0;
/// The rate is reached in the first interval of this length with so much of it.
const INTERVAL: Span = Span::from_millis(100);
const REACHED: f64 = 0.9;
/// Sizes of the transfers in bytes.
const SIZES: [u64; 3] = [100_000, 1_000_000, 10_000_000];
/// A transfer that takes longer counts as not completed.
const TRANSFER_SECONDS: f64 = 60.0;

/// The start-up of a contender.
#[derive(Debug, Serialize)]
pub(super) struct StartUp {
    /// Bytes on the wire that leave the sender in the first nine tenths of a round trip after its handshake.
    first_flight_bytes: u64,
    /// When the link first carries 90 % of its rate for 100 ms, from the start of the flow; `null`: not in 5 s.
    full_after_s: Option<f64>,
    /// Packets that the queue drops in the first 5 s.
    drops: u64,
    /// Goodput of the first 5 s.
    goodput_mbit_per_s: f64,
    /// Times of transfers of 100 kB, 1 MB and 10 MB, handshake included; `null`: not completed in a minute.
    transfers_s: [Option<f64>; 3],
}

pub(super) fn figures(path: &Shared, contender: &Contender) -> Result<StartUp, String> {
    let bulk = run(&alone(path, "{ kind = \"bulk\" }", SECONDS), contender)?;
    let mut transfers_s = [None; SIZES.len()];
    for (time, bytes) in transfers_s.iter_mut().zip(SIZES) {
        *time = transfer(path, contender, bytes)?;
    }
    Ok(StartUp {
        first_flight_bytes: first_flight(&bulk, path.rtt),
        full_after_s: full_after(&bulk),
        drops: bulk.summary.drops,
        goodput_mbit_per_s: bulk.goodputs(slice::from_ref(contender))[0],
        transfers_s,
    })
}

fn transfer(path: &Shared, contender: &Contender, bytes: u64) -> Result<Option<f64>, String> {
    let app = format!("{{ kind = \"transfer\", size = \"{bytes}B\" }}");
    let outcome = run(&alone(path, &app, TRANSFER_SECONDS), contender)?;
    let flows = outcome.summary.flows.iter().map(|flow| &flow.transfers);
    let endpoints = outcome.summary.endpoints.iter().map(|flow| &flow.transfers);
    let mut transfers = flows.chain(endpoints).flatten();
    Ok(transfers.next().and_then(|transfers| transfers.completion_s.first().copied()))
}

/// Bytes that leave the sender before it can have an answer to the first of them.
fn first_flight(outcome: &Outcome, rtt_ms: f64) -> u64 {
    let Some(connected) = outcome.watch.connected else { return 0 };
    let until = connected + Span::from_secs_f64(rtt_ms / 1000.0 * 0.9);
    let in_time = |at: Time| at >= connected && at < until;
    let sent = outcome.watch.left[0].iter().filter(|sent| in_time(sent.at));
    sent.map(|sent| u64::from(sent.bytes)).sum()
}

/// The end of the first interval in which the link carries nearly its rate.
fn full_after(outcome: &Outcome) -> Option<f64> {
    let rate = outcome.summary.queues.first()?.rate_mbit_per_s?;
    let full = rate * 1e6 / 8.0 * INTERVAL.as_secs_f64() * REACHED;
    let mut bytes = vec![0u64; (SECONDS / INTERVAL.as_secs_f64()).ceil() as usize + 1];
    for sent in &outcome.watch.passed {
        let interval = (sent.at.as_nanos() / INTERVAL.as_nanos()) as usize;
        bytes[interval] += u64::from(sent.bytes);
    }
    let interval = bytes.iter().position(|bytes| *bytes as f64 >= full)?;
    Some((interval + 1) as f64 * INTERVAL.as_secs_f64())
}

pub(super) fn text(rows: &[Row<StartUp>]) -> String {
    let head = [
        "start-up",
        "first flight B",
        "90 % after s",
        "drops",
        "Mbit/s of 5 s",
        "100 kB s",
        "1 MB s",
        "10 MB s",
    ];
    let row = |row: &Row<StartUp>| {
        let figures = &row.figures;
        let mut cells = vec![
            row.contender.clone(),
            figures.first_flight_bytes.to_string(),
            shown(figures.full_after_s, 1),
            figures.drops.to_string(),
            shown(Some(figures.goodput_mbit_per_s), 2),
        ];
        cells.extend(figures.transfers_s.iter().map(|time| shown(*time, 3)));
        cells
    };
    table(&head.map(String::from), &rows.iter().map(row).collect::<Vec<_>>())
}
