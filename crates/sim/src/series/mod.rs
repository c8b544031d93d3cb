//! Time series of a run: a row for every time at which a value changed.
//!
//! [`Series`] is the recorder. [`csv`] writes the rows as the run goes on, [`columns`] keeps them in
//! memory.

pub mod columns;
pub mod csv;
pub mod endpoints;

use crate::model::{Flow, LinkDirection, Scenario};
use crate::record::{Divide, Owners, Recorder};
use crate::reported_queues::reported_queues;
use std::io;
use windlass_base::{Span, Time};
use windlass_tcp::cc::{NewEcn, TraceValue};
use windlass_tcp::{Connection, TraceEvent};

/// The version of the series' format: names and meanings of the columns. It is in the summary of the
/// run, since CSV has no place for it.
pub const SCHEMA_VERSION: u32 = 1;

/// A flow's columns after `time_s`.
pub const FLOW_COLUMNS: [&str; 5] =
    ["cwnd_packets", "ssthresh_packets", "srtt_ms", "slope", "acked_packets"];
/// The columns of a flow's transfers after `time_s`.
pub const TRANSFER_COLUMNS: [&str; 2] = ["begun_s", "bytes"];
/// A queue's columns after `time_s`.
pub const QUEUE_COLUMNS: [&str; 3] = ["queue_packets", "average_queue", "delay_ms"];

/// Takes the rows of one series, in order of time.
pub trait Rows<Row> {
    /// Takes the state that held from `time` on.
    ///
    /// # Errors
    ///
    /// The row cannot be kept.
    fn push(&mut self, time: Time, row: &Row) -> io::Result<()>;

    /// Called after the last row.
    ///
    /// # Errors
    ///
    /// Rows cannot be kept.
    fn finish(&mut self) -> io::Result<()>;
}

/// The state of a flow.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct FlowRow {
    /// The congestion window, in packets.
    pub cwnd_packets: f64,
    /// State that rarely changes between rows.
    pub seldom: Seldom,
    /// Packets acknowledged so far, on all connections of the flow.
    pub acked_packets: f64,
}

/// Values of a flow that rarely change from one row to the next.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Seldom {
    /// The slow-start threshold, in packets; `None` while there is none.
    pub ssthresh_packets: Option<f64>,
    /// The smoothed RTT; `None` before the first sample.
    pub srtt: Option<Span>,
    /// New-ECN's window slope, in packets per round trip; `None` for other controllers.
    pub slope: Option<f64>,
}

/// A transfer that arrived whole at the time of its row.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TransferRow {
    /// When its connection was opened, or its request sent.
    pub begun: Time,
    /// Its payload.
    pub bytes: u64,
}

/// The state of a queue.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct QueueRow {
    /// Packets waiting.
    pub packets: usize,
    /// RED's average, in packets; `None` for other queues.
    pub average: Option<f64>,
    /// How long the packet had waited that left the queue last; `None` before the first.
    pub delay: Option<Span>,
}

/// Records a series for each TCP flow and, if asked for, each queue of
/// [`Summary::queues`](crate::Summary::queues), with a row for every time at which a value changed. A flow
/// with several connections at a time has no window of its own and thus no such series. Flows with
/// transfers of many sizes have a series with a row for each transfer.
///
/// Names of series are `flow-NAME`, `transfers-NAME`, and `queue-LINK-forward` or `queue-LINK-backward`.
/// [`Series::finish`] returns errors of the rows' keepers.
#[derive(Debug)]
pub struct Series<F, T, Q> {
    flows: Vec<Option<FlowSeries<F>>>,
    transfers: Vec<Option<T>>,
    queues: Vec<Option<Latest<QueueRow, Q>>>,
    error: Option<io::Error>,
}

impl<F: Rows<FlowRow>, T: Rows<TransferRow>, Q: Rows<QueueRow>> Series<F, T, Q> {
    fn open(
        scenario: &Scenario,
        mut flow: impl FnMut(&str) -> io::Result<F>,
        mut transfers: impl FnMut(&str) -> io::Result<T>,
    ) -> io::Result<Series<F, T, Q>> {
        let queues = (0..scenario.links.len() * 2).map(|_| None).collect();
        let mut series = Series { flows: vec![], transfers: vec![], queues, error: None };
        for Flow { name, app, .. } in &scenario.flows {
            let rows = (!app.is_concurrent()).then(|| flow(&format!("flow-{name}"))).transpose()?;
            series.flows.push(rows.map(FlowSeries::new));
            let rows = app.has_sizes().then(|| transfers(&format!("transfers-{name}")));
            series.transfers.push(rows.transpose()?);
        }
        Ok(series)
    }

    /// Adds the series of the queues. They have a row or two for each packet, which are most rows of a run.
    fn open_queues(
        &mut self,
        scenario: &Scenario,
        mut queue: impl FnMut(&str) -> io::Result<Q>,
    ) -> io::Result<()> {
        for direction in reported_queues(scenario) {
            let link = &scenario.links[direction.link].name;
            let way = if direction.reverse { "backward" } else { "forward" };
            let mut latest = Latest::new(queue(&format!("queue-{link}-{way}"))?);
            // Its first row is of the empty queue at the beginning.
            latest.due = true;
            self.queues[index(direction)] = Some(latest);
        }
        Ok(())
    }

    fn finish_all(&mut self) -> io::Result<()> {
        for flow in self.flows.iter_mut().flatten() {
            flow.latest.finish()?;
        }
        for transfers in self.transfers.iter_mut().flatten() {
            transfers.finish()?;
        }
        for queue in self.queues.iter_mut().flatten() {
            queue.finish()?;
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn keep_error(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl<F: Rows<FlowRow>, T: Rows<TransferRow>, Q: Rows<QueueRow>> Recorder for Series<F, T, Q> {
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        if let Some(flow) = &mut self.flows[flow] {
            let result = flow.connection_started(now, connection);
            self.keep_error(result);
        }
    }

    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        if let Some(flow) = &mut self.flows[flow] {
            let result = flow.connection_established(now, connection);
            self.keep_error(result);
        }
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        if let Some(flow) = &mut self.flows[flow] {
            let result = flow.event(now, event);
            self.keep_error(result);
        }
    }

    fn transfer_done(&mut self, now: Time, flow: usize, begun: Time, bytes: u64) {
        if let Some(transfers) = &mut self.transfers[flow] {
            let result = transfers.push(now, &TransferRow { begun, bytes });
            self.keep_error(result);
        }
    }

    fn queue_changed(
        &mut self,
        now: Time,
        direction: LinkDirection,
        packets: usize,
        average: Option<f64>,
    ) {
        if let Some(queue) = &mut self.queues[index(direction)] {
            let result = queue.begin(now);
            queue.row = QueueRow { packets, average, ..queue.row };
            self.keep_error(result);
        }
    }

    fn packet_left(&mut self, now: Time, direction: LinkDirection, waited: Span) {
        if let Some(queue) = &mut self.queues[index(direction)]
            && queue.row.delay != Some(waited)
        {
            let result = queue.begin(now);
            queue.row.delay = Some(waited);
            self.keep_error(result);
        }
    }
}

/// The series of a flow go to the part of its sender, those of a queue to the queue's.
impl<F, T, Q> Divide for Series<F, T, Q>
where
    F: Rows<FlowRow> + Send,
    T: Rows<TransferRow> + Send,
    Q: Rows<QueueRow> + Send,
{
    fn divide(&mut self, parts: usize, owners: &Owners) -> Option<Vec<Series<F, T, Q>>> {
        let part = |number: usize| Series {
            flows: take_of(&mut self.flows, &owners.flows, number),
            transfers: take_of(&mut self.transfers, &owners.flows, number),
            queues: take_of(&mut self.queues, &owners.channels, number),
            error: None,
        };
        Some((0..parts).map(part).collect())
    }

    fn unite(&mut self, parts: Vec<Series<F, T, Q>>) {
        for part in parts {
            put_back(&mut self.flows, part.flows);
            put_back(&mut self.transfers, part.transfers);
            put_back(&mut self.queues, part.queues);
            self.keep_error(part.error.map_or(Ok(()), Err));
        }
    }
}

/// Takes what the part of this number owns.
fn take_of<S>(all: &mut [Option<S>], owners: &[usize], number: usize) -> Vec<Option<S>> {
    let take = |(one, owner): (&mut Option<S>, &usize)| one.take_if(|_| *owner == number);
    all.iter_mut().zip(owners).map(take).collect()
}

fn put_back<S>(all: &mut [Option<S>], part: Vec<Option<S>>) {
    for (one, taken) in all.iter_mut().zip(part) {
        if taken.is_some() {
            *one = taken;
        }
    }
}

fn index(direction: LinkDirection) -> usize {
    direction.link * 2 + usize::from(direction.reverse)
}

/// Passes on one row for each time, with the last state of that time: before a state changes, the
/// row of an earlier time is passed on.
#[derive(Debug)]
struct Latest<Row, S> {
    time: Time,
    /// The state of `time` is not passed on yet.
    due: bool,
    row: Row,
    rows: S,
}

impl<Row: Default, S: Rows<Row>> Latest<Row, S> {
    fn new(rows: S) -> Latest<Row, S> {
        Latest { time: Time::ZERO, due: false, row: Row::default(), rows }
    }

    /// The state is about to change at `now`.
    fn begin(&mut self, now: Time) -> io::Result<()> {
        let result = if now == self.time { Ok(()) } else { self.pass_on() };
        self.time = now;
        self.due = true;
        result
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if !self.due {
            return Ok(());
        }
        self.due = false;
        self.rows.push(self.time, &self.row)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.rows.finish()
    }
}

#[derive(Debug)]
struct FlowSeries<S> {
    latest: Latest<FlowRow, S>,
    mss: f64,
    acked_on_earlier_connections: f64,
}

impl<S: Rows<FlowRow>> FlowSeries<S> {
    fn new(rows: S) -> FlowSeries<S> {
        FlowSeries { latest: Latest::new(rows), mss: 1.0, acked_on_earlier_connections: 0.0 }
    }

    fn connection_started(&mut self, now: Time, connection: &Connection) -> io::Result<()> {
        let result = self.latest.begin(now);
        self.mss = f64::from(connection.mss());
        let ssthresh_packets = self.ssthresh(connection.ssthresh());
        let row = &mut self.latest.row;
        self.acked_on_earlier_connections = row.acked_packets;
        row.cwnd_packets = connection.cwnd() / self.mss;
        let slope = connection.trace_value(NewEcn::SLOPE);
        row.seldom = Seldom { ssthresh_packets, srtt: None, slope };
        result
    }

    /// The handshake is complete: the MSS is known, and with it the window in packets.
    fn connection_established(&mut self, now: Time, connection: &Connection) -> io::Result<()> {
        let result = self.latest.begin(now);
        self.mss = f64::from(connection.mss());
        self.latest.row.cwnd_packets = connection.cwnd() / self.mss;
        result
    }

    fn event(&mut self, now: Time, event: TraceEvent) -> io::Result<()> {
        if !changes_a_row(event) {
            return Ok(());
        }
        let result = self.latest.begin(now);
        match event {
            TraceEvent::Cwnd { bytes } => self.latest.row.cwnd_packets = bytes / self.mss,
            TraceEvent::Ssthresh { bytes } => {
                self.latest.row.seldom.ssthresh_packets = self.ssthresh(bytes);
            }
            TraceEvent::Rtt { smoothed, .. } => self.latest.row.seldom.srtt = Some(smoothed),
            TraceEvent::Controller(TraceValue { name: NewEcn::SLOPE, value }) => {
                self.latest.row.seldom.slope = Some(value);
            }
            TraceEvent::Acked { bytes } => {
                self.latest.row.acked_packets =
                    self.acked_on_earlier_connections + bytes as f64 / self.mss;
            }
            _ => {}
        }
        result
    }

    fn ssthresh(&self, bytes: u64) -> Option<f64> {
        (bytes != u64::MAX).then(|| bytes as f64 / self.mss)
    }
}

/// True for events that change a row.
fn changes_a_row(event: TraceEvent) -> bool {
    matches!(
        event,
        TraceEvent::Cwnd { .. }
            | TraceEvent::Ssthresh { .. }
            | TraceEvent::Rtt { changed: true, .. }
            | TraceEvent::Controller(TraceValue { name: NewEcn::SLOPE, .. })
            | TraceEvent::Acked { .. }
    )
}
