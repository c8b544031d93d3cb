//! The results of a run, as the page shows them.

use crate::flows::{FlowRecord, Samples};
use crate::plot;
use serde::Serialize;
use windlass_sim::Summary;
use windlass_sim::series::columns::Table;

/// A run's summary and plots. `summary` is the object that `windlass sim run --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The summary.
    pub summary: Summary,
    /// TCP flows, in the scenario's order.
    pub flows: Vec<FlowPlots>,
    /// The bottleneck's queue, then the others between routers, in the scenario's order.
    pub queues: Vec<QueuePlots>,
}

/// A flow over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowPlots {
    /// Its name.
    pub name: String,
    /// Payload of a segment in bytes.
    pub mss_bytes: u32,
    /// The congestion window in packets; each value holds until the next. Empty for flows with several
    /// connections at a time, which have no window of their own.
    pub cwnd_packets: Curve,
    /// Payload on the last link to the receiver in Mbit/s, retransmissions included, the mean over each of
    /// equal spans of time.
    pub rate_mbit_per_s: Vec<f64>,
    /// The round-trip times that the sender measures, in milliseconds.
    pub rtt_ms: Curve,
}

/// A queue over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueuePlots {
    /// `LINK-forward` or `LINK-backward`.
    pub name: String,
    /// Packets waiting; each value holds until the next.
    pub packets: Curve,
    /// RED's average in packets; empty for other queues.
    pub average_packets: Curve,
}

/// Points in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Seconds from the beginning of the run.
    pub time_s: Vec<f64>,
    /// A value for each time.
    pub value: Vec<f64>,
}

/// How finely a run is plotted.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Resolution {
    /// Parts of the time for curves.
    pub(crate) curve_spans: usize,
    /// Parts of the time for rates.
    pub(crate) rate_spans: usize,
}

/// Puts a run's results together.
pub(crate) fn outcome(
    summary: Summary,
    tables: &[Table],
    records: &[FlowRecord],
    resolution: Resolution,
) -> Outcome {
    let end = summary.duration_s;
    let flows = summary.flows.iter().zip(records).map(|(flow, record)| {
        let table = format!("flow-{}", flow.name);
        let table = tables.iter().find(|found| found.name == table);
        FlowPlots {
            name: flow.name.clone(),
            mss_bytes: record.mss_bytes,
            cwnd_packets: table
                .map(|table| curve(table, "cwnd_packets", end, resolution))
                .unwrap_or_default(),
            rate_mbit_per_s: rates(&record.received, end, resolution),
            rtt_ms: thinned(&record.rtt_ms.time_s, &record.rtt_ms.value, end, resolution),
        }
    });
    let flows = flows.collect();
    let queues = tables.iter().filter_map(|table| Some((table, queue_name(table)?)));
    let queues = queues.map(|(table, name)| QueuePlots {
        name: name.to_owned(),
        packets: curve(table, "queue_packets", end, resolution),
        average_packets: curve(table, "average_queue", end, resolution),
    });
    Outcome { flows, queues: queues.collect(), summary }
}

/// `LINK-forward` or `LINK-backward`; `None` for tables of other things.
fn queue_name(table: &Table) -> Option<&str> {
    table.name.strip_prefix("queue-")
}

fn rates(received: &Samples, end: f64, resolution: Resolution) -> Vec<f64> {
    let bytes = plot::growth(&received.time_s, &received.value, end, resolution.rate_spans);
    bytes.into_iter().map(|bytes| bytes * 8.0 / 1e6).collect()
}

fn curve(table: &Table, name: &str, end: f64, resolution: Resolution) -> Curve {
    thinned(column(table, "time_s"), column(table, name), end, resolution)
}

fn thinned(times: &[f64], values: &[f64], end: f64, resolution: Resolution) -> Curve {
    let rows = plot::thin(times, values, end, resolution.curve_spans);
    Curve {
        time_s: rows.iter().map(|&row| times[row]).collect(),
        value: rows.iter().map(|&row| values[row]).collect(),
    }
}

/// A column's values; none if the table has no such column.
fn column<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    table.columns.iter().find(|column| column.name == name).map_or(&[], |column| &column.values)
}
