//! The repair of losses: how much longer a transfer takes than without them.

use super::{Row, alone, run};
use crate::args::Shared;
use crate::bed::{Bed, Outcome};
use crate::contender::Contender;
use crate::table::{shown, table};
use serde::Serialize;
use std::slice;

/// Bytes of the transfer.
const BYTES: u64 = 500_000;
/// So fast that the transfer fills no queue, whose waiting times would hide those of the repair.
const RATE: &str = "200Mbit/s";
/// The link's own queue drops nothing of it.
const QUEUE: &str = r#"{ kind = "droptail", limit = "2MB" }"#;
/// A transfer that takes longer counts as not completed.
const SECONDS: f64 = 60.0;
/// Packets from the end that are lost in the tail.
const TAIL: u64 = 3;
/// A run with random losses, for each seed.
const RANDOM_SECONDS: f64 = 30.0;

/// The repair of losses by a contender.
#[derive(Debug, Serialize)]
pub(super) struct Loss {
    /// The time of the transfer without losses.
    lossless_s: Option<f64>,
    /// One packet of the middle is lost.
    one: Repair,
    /// Ten packets of the middle are lost, one after the other.
    ten: Repair,
    /// The last three packets are lost.
    tail: Repair,
    /// Goodput of a bulk flow when one packet in a hundred is lost, the mean over the seeds.
    goodput_at_one_percent_mbit_per_s: f64,
}

/// A transfer with losses.
#[derive(Copy, Clone, Debug, Serialize)]
struct Repair {
    /// How much longer than without losses; `null`: not completed.
    longer_ms: Option<f64>,
    /// Packets to the receiver beyond those of the transfer without losses.
    more_packets: i64,
}

pub(super) fn figures(path: &Shared, contender: &Contender) -> Result<Loss, String> {
    let app = format!("{{ kind = \"transfer\", size = \"{BYTES}B\" }}");
    let bed = Bed { rate: RATE.to_owned(), queue: QUEUE.to_owned(), ..alone(path, &app, SECONDS) };
    let lossless = run(&bed, contender)?;
    let packets = to_the_last_byte(&lossless);
    let middle = packets / 2;
    let repair = |lost: std::ops::RangeInclusive<u64>| {
        let list: Vec<String> = lost.map(|packet| packet.to_string()).collect();
        let loss = format!("{{ packets = [{}] }}", list.join(", "));
        let outcome = run(&Bed { loss, ..bed.clone() }, contender)?;
        Ok::<Repair, String>(Repair {
            longer_ms: time(&outcome)
                .zip(time(&lossless))
                .map(|(with, without)| (with - without) * 1e3),
            more_packets: to_the_last_byte(&outcome) as i64 - packets as i64,
        })
    };
    Ok(Loss {
        lossless_s: time(&lossless),
        one: repair(middle..=middle)?,
        ten: repair(middle..=middle + 9)?,
        tail: repair(packets.saturating_sub(TAIL - 1)..=packets)?,
        goodput_at_one_percent_mbit_per_s: random(path, contender)?,
    })
}

fn time(outcome: &Outcome) -> Option<f64> {
    outcome.watch.transfers.first().map(|(begun, done)| (*done - *begun).as_secs_f64())
}

/// Packets to the receiver until the transfer is complete, lost ones included. The run ends with it.
fn to_the_last_byte(outcome: &Outcome) -> u64 {
    outcome.watch.passed.len() as u64
}

fn random(path: &Shared, contender: &Contender) -> Result<f64, String> {
    let bulk = alone(path, "{ kind = \"bulk\" }", RANDOM_SECONDS);
    let bed = Bed { loss: "0.01".to_owned(), ..bulk };
    let mut sum = 0.0;
    for seed in 1..=path.runs {
        let contenders = slice::from_ref(contender);
        sum += bed.run(contenders, seed)?.goodputs(contenders)[0];
    }
    Ok(sum / path.runs.max(1) as f64)
}

pub(super) fn text(rows: &[Row<Loss>]) -> String {
    let head = [
        "losses",
        "none s",
        "one ms",
        "packets",
        "ten ms",
        "packets",
        "tail ms",
        "packets",
        "Mbit/s at 1 %",
    ];
    let row = |row: &Row<Loss>| {
        let figures = &row.figures;
        let mut cells = vec![row.contender.clone(), shown(figures.lossless_s, 3)];
        for repair in [figures.one, figures.ten, figures.tail] {
            cells.push(shown(repair.longer_ms, 1));
            cells.push(format!("{:+}", repair.more_packets));
        }
        cells.push(shown(Some(figures.goodput_at_one_percent_mbit_per_s), 2));
        cells
    };
    table(&head.map(String::from), &rows.iter().map(row).collect::<Vec<_>>())
}
