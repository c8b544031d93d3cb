//! Time series in memory, column by column.

use super::{FLOW_COLUMNS, QUEUE_COLUMNS, TRANSFER_COLUMNS};
use super::{FlowRow, QueueRow, Rows, Series, TransferRow};
use crate::model::Scenario;
use std::io;
use windlass_base::{Span, Time};

/// Keeps all rows in memory: 48 bytes for each of a flow, 24 of a transfer, 32 of a queue.
pub type ColumnSeries = Series<FlowColumns, TransferColumns, QueueColumns>;

/// One series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// `flow-NAME`, `transfers-NAME`, `queue-LINK-forward` or `queue-LINK-backward`.
    pub name: String,
    /// The columns, of equal length.
    pub columns: Vec<Column>,
}

/// A column with its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// As in the CSV series: `time_s`, then those of [`FLOW_COLUMNS`], [`TRANSFER_COLUMNS`] or
    /// [`QUEUE_COLUMNS`].
    pub name: &'static str,
    /// The values; NaN where a value is not known.
    pub values: Vec<f64>,
    /// Whether a value may be unknown.
    pub nullable: bool,
}

impl ColumnSeries {
    /// The series of a scenario's flows, and with `queues` those of its reported queues.
    pub fn in_memory(scenario: &Scenario, queues: bool) -> ColumnSeries {
        let flow = |name: &str| Ok(FlowColumns(named(name)));
        let flows = Series::open(scenario, flow, |name| Ok(TransferColumns(named(name))));
        let Ok(mut series) = flows else { unreachable!("memory opens without an error") };
        if queues {
            let opened = series.open_queues(scenario, |name| Ok(QueueColumns(named(name))));
            debug_assert!(opened.is_ok(), "memory opens without an error");
        }
        series
    }

    /// The tables: those of flows, of transfers and of queues, each in the scenario's order.
    pub fn into_tables(mut self) -> Vec<Table> {
        let finished = self.finish_all();
        debug_assert!(finished.is_ok(), "memory takes what is written to it");
        let flows = self.flows.into_iter().flatten();
        let flows = flows.map(|flow| flow.latest.rows.0.into_table(&FLOW));
        let transfers = self.transfers.into_iter().flatten();
        let transfers = transfers.map(|transfers| transfers.0.into_table(&TRANSFER));
        let queues = self.queues.into_iter().flatten().map(|queue| queue.rows.0.into_table(&QUEUE));
        flows.chain(transfers).chain(queues).collect()
    }
}

/// Which of a flow's columns may lack values.
const FLOW: [(&str, bool); 5] = [
    (FLOW_COLUMNS[0], false),
    (FLOW_COLUMNS[1], true),
    (FLOW_COLUMNS[2], true),
    (FLOW_COLUMNS[3], true),
    (FLOW_COLUMNS[4], false),
];
const TRANSFER: [(&str, bool); 2] = [(TRANSFER_COLUMNS[0], false), (TRANSFER_COLUMNS[1], false)];
const QUEUE: [(&str, bool); 3] =
    [(QUEUE_COLUMNS[0], false), (QUEUE_COLUMNS[1], true), (QUEUE_COLUMNS[2], true)];

#[derive(Clone, Debug)]
struct Kept<const N: usize> {
    name: String,
    time_s: Vec<f64>,
    values: [Vec<f64>; N],
}

fn named<const N: usize>(name: &str) -> Kept<N> {
    Kept { name: name.to_owned(), time_s: Vec::new(), values: [const { Vec::new() }; N] }
}

impl<const N: usize> Kept<N> {
    fn push(&mut self, time: Time, values: [Option<f64>; N]) {
        // Exact below 2^53 ns, so the quotient is the number nearest to the decimal time.
        self.time_s.push(time.as_nanos() as f64 / 1e9);
        for (column, value) in self.values.iter_mut().zip(values) {
            column.push(value.unwrap_or(f64::NAN));
        }
    }

    fn into_table(self, columns: &[(&'static str, bool); N]) -> Table {
        let time = Column { name: "time_s", values: self.time_s, nullable: false };
        let others = columns.iter().zip(self.values);
        let others =
            others.map(|((name, nullable), values)| Column { name, values, nullable: *nullable });
        Table { name: self.name, columns: std::iter::once(time).chain(others).collect() }
    }
}

/// A flow's rows.
#[derive(Clone, Debug)]
pub struct FlowColumns(Kept<5>);

impl Rows<FlowRow> for FlowColumns {
    fn push(&mut self, time: Time, row: &FlowRow) -> io::Result<()> {
        let seldom = row.seldom;
        let srtt_ms = seldom.srtt.map(Span::as_millis_f64);
        let (cwnd, acked) = (Some(row.cwnd_packets), Some(row.acked_packets));
        self.0.push(time, [cwnd, seldom.ssthresh_packets, srtt_ms, seldom.slope, acked]);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The rows of a flow's transfers.
#[derive(Clone, Debug)]
pub struct TransferColumns(Kept<2>);

impl Rows<TransferRow> for TransferColumns {
    fn push(&mut self, time: Time, row: &TransferRow) -> io::Result<()> {
        let begun_s = row.begun.as_nanos() as f64 / 1e9;
        self.0.push(time, [Some(begun_s), Some(row.bytes as f64)]);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A queue's rows.
#[derive(Clone, Debug)]
pub struct QueueColumns(Kept<3>);

impl Rows<QueueRow> for QueueColumns {
    fn push(&mut self, time: Time, row: &QueueRow) -> io::Result<()> {
        let delay_ms = row.delay.map(Span::as_millis_f64);
        self.0.push(time, [Some(row.packets as f64), row.average, delay_ms]);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
