//! Time series as CSV, written as the run goes on.

use crate::decimal::{push_nanos, push_number};
use crate::record::Recorder;
use crate::reported_queues::reported_queues;
use crate::scenario::model::{LinkDirection, Scenario};
use std::io::{self, Write};
use windlass_base::{Span, Time};
use windlass_tcp::cc::{NewEcn, TraceValue};
use windlass_tcp::{Connection, TraceEvent};

/// The version of the series' format: names and meanings of the columns. It is in the summary of the
/// run, since CSV has no place for it.
pub const SCHEMA_VERSION: u32 = 1;

const NANOS_PER_S: u64 = 1_000_000_000;

/// First line of a flow's series.
const FLOW_HEADER: &str = "time_s,cwnd_packets,ssthresh_packets,srtt_ms,slope,acked_packets\n";
/// First line of a queue's series.
const QUEUE_HEADER: &str = "time_s,queue_packets,average_queue\n";

/// Writes a CSV series for each TCP flow and each reported queue
/// ([`reported_queues`]), with a line for every time at which a value changed. A field is empty while
/// its value is not known.
///
/// Names of series are `flow-NAME` and `queue-LINK-forward` or `queue-LINK-backward`.
/// [`Series::finish`] returns errors of writing.
#[derive(Debug)]
pub struct Series<W> {
    flows: Vec<FlowSeries<W>>,
    queues: Vec<Option<QueueSeries<W>>>,
    error: Option<io::Error>,
}

impl<W: Write> Series<W> {
    /// Opens all series of a scenario. `open` returns the writer for a name, which needs no buffer.
    ///
    /// # Errors
    ///
    /// The first error of `open`.
    pub fn new(
        scenario: &Scenario,
        mut open: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<Series<W>> {
        let mut series = Series::of_flows(scenario, &mut open)?;
        for direction in reported_queues(scenario) {
            let link = &scenario.links[direction.link].name;
            let way = if direction.reverse { "backward" } else { "forward" };
            let queue = QueueSeries::new(open(&format!("queue-{link}-{way}"))?);
            series.queues[index(direction)] = Some(queue);
        }
        Ok(series)
    }

    /// Opens the series of the flows alone. The series of the queues have a line or two for each
    /// packet, which are most lines of a run.
    ///
    /// # Errors
    ///
    /// The first error of `open`.
    pub fn of_flows(
        scenario: &Scenario,
        mut open: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<Series<W>> {
        let mut flows = vec![];
        for flow in &scenario.flows {
            flows.push(FlowSeries::new(open(&format!("flow-{}", flow.name))?));
        }
        let queues = (0..scenario.links.len() * 2).map(|_| None).collect();
        Ok(Series { flows, queues, error: None })
    }

    /// Writes the remaining lines.
    ///
    /// # Errors
    ///
    /// The first error of any write since the series were opened.
    pub fn finish(mut self) -> io::Result<()> {
        for flow in &mut self.flows {
            flow.finish()?;
        }
        for queue in self.queues.iter_mut().flatten() {
            queue.finish()?;
        }
        self.error.map_or(Ok(()), Err)
    }

    fn keep_error(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

impl<W: Write> Recorder for Series<W> {
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        let result = self.flows[flow].connection_started(now, connection);
        self.keep_error(result);
    }

    fn connection_established(&mut self, now: Time, flow: usize, connection: &Connection) {
        let result = self.flows[flow].connection_established(now, connection);
        self.keep_error(result);
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        let result = self.flows[flow].event(now, event);
        self.keep_error(result);
    }

    fn queue_changed(
        &mut self,
        now: Time,
        direction: LinkDirection,
        packets: usize,
        average: Option<f64>,
    ) {
        if let Some(queue) = &mut self.queues[index(direction)] {
            let result = queue.changed(now, packets, average);
            self.keep_error(result);
        }
    }
}

fn index(direction: LinkDirection) -> usize {
    direction.link * 2 + usize::from(direction.reverse)
}

/// Bytes that a series collects before it writes them. A thousand flows have as many of these.
const BUFFER_BYTES: usize = 16 << 10;

/// Writes one line for each time, with the last state of that time: before a state changes, the
/// line of an earlier time is written.
#[derive(Debug)]
struct Lines<W> {
    writer: W,
    time: Time,
    /// The state of `time` is not written yet.
    due: bool,
    /// Lines not written yet.
    text: Vec<u8>,
    /// The whole seconds of the last line, and their text.
    seconds: u64,
    seconds_text: Vec<u8>,
}

impl<W: Write> Lines<W> {
    fn new(writer: W, header: &str) -> Lines<W> {
        let (seconds, seconds_text) = (0, b"0".to_vec());
        Lines { writer, time: Time::ZERO, due: false, text: header.into(), seconds, seconds_text }
    }

    /// The state, which `write` appends to a line, is about to change at `now`.
    fn begin(&mut self, now: Time, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let result = if now == self.time { Ok(()) } else { self.write_due(write) };
        self.time = now;
        self.due = true;
        result
    }

    fn write_due(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if !self.due {
            return Ok(());
        }
        self.due = false;
        self.push_time();
        write(&mut self.text);
        self.text.push(b'\n');
        if self.text.len() >= BUFFER_BYTES { self.write_text() } else { Ok(()) }
    }

    fn push_time(&mut self) {
        let seconds = self.time.as_nanos() / NANOS_PER_S;
        if seconds != self.seconds {
            self.seconds = seconds;
            self.seconds_text.clear();
            push_number(&mut self.seconds_text, seconds as f64);
        }
        self.text.extend_from_slice(&self.seconds_text);
        push_nanos(&mut self.text, (self.time.as_nanos() % NANOS_PER_S) as u32);
    }

    #[cold]
    fn write_text(&mut self) -> io::Result<()> {
        let result = self.writer.write_all(&self.text);
        self.text.clear();
        result
    }

    fn finish(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.write_due(write)?;
        self.write_text()?;
        self.writer.flush()
    }
}

#[derive(Debug)]
struct QueueSeries<W> {
    lines: Lines<W>,
    packets: usize,
    average: Option<f64>,
}

impl<W: Write> QueueSeries<W> {
    fn new(writer: W) -> QueueSeries<W> {
        let mut lines = Lines::new(writer, QUEUE_HEADER);
        lines.due = true;
        QueueSeries { lines, packets: 0, average: None }
    }

    fn changed(&mut self, now: Time, packets: usize, average: Option<f64>) -> io::Result<()> {
        let result = self.lines.begin(now, |line| write_queue(line, self.packets, self.average));
        self.packets = packets;
        self.average = average;
        result
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lines.finish(|line| write_queue(line, self.packets, self.average))
    }
}

fn write_queue(line: &mut Vec<u8>, packets: usize, average: Option<f64>) {
    write_field(line, Some(packets as f64));
    write_field(line, average);
}

#[derive(Debug)]
struct FlowSeries<W> {
    lines: Lines<W>,
    state: FlowState,
    mss: f64,
    acked_on_earlier_connections: f64,
}

#[derive(Debug, Default)]
struct FlowState {
    cwnd_packets: f64,
    seldom: Seldom,
    /// Value of `seldom` in `seldom_text`.
    seldom_written: Option<Seldom>,
    seldom_text: Vec<u8>,
    acked_packets: f64,
}

/// Values that rarely change from one line to the next.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
struct Seldom {
    ssthresh_packets: Option<f64>,
    srtt: Option<Span>,
    slope: Option<f64>,
}

impl FlowState {
    fn write(&mut self, line: &mut Vec<u8>) {
        if self.seldom_written != Some(self.seldom) {
            self.seldom_written = Some(self.seldom);
            self.seldom_text.clear();
            write_field(&mut self.seldom_text, self.seldom.ssthresh_packets);
            write_field(&mut self.seldom_text, self.seldom.srtt.map(Span::as_millis_f64));
            write_field(&mut self.seldom_text, self.seldom.slope);
        }
        write_field(line, Some(self.cwnd_packets));
        line.extend_from_slice(&self.seldom_text);
        write_field(line, Some(self.acked_packets));
    }
}

impl<W: Write> FlowSeries<W> {
    fn new(writer: W) -> FlowSeries<W> {
        FlowSeries {
            lines: Lines::new(writer, FLOW_HEADER),
            state: FlowState::default(),
            mss: 1.0,
            acked_on_earlier_connections: 0.0,
        }
    }

    /// The state is about to change at `now`.
    fn begin(&mut self, now: Time) -> io::Result<()> {
        self.lines.begin(now, |line| self.state.write(line))
    }

    fn connection_started(&mut self, now: Time, connection: &Connection) -> io::Result<()> {
        let result = self.begin(now);
        self.mss = f64::from(connection.mss());
        self.acked_on_earlier_connections = self.state.acked_packets;
        self.state.cwnd_packets = connection.cwnd() / self.mss;
        self.state.seldom.ssthresh_packets = self.ssthresh(connection.ssthresh());
        self.state.seldom.srtt = None;
        self.state.seldom.slope = connection.trace_value(NewEcn::SLOPE);
        result
    }

    /// The handshake is complete: the MSS is known, and with it the window in packets.
    fn connection_established(&mut self, now: Time, connection: &Connection) -> io::Result<()> {
        let result = self.begin(now);
        self.mss = f64::from(connection.mss());
        self.state.cwnd_packets = connection.cwnd() / self.mss;
        result
    }

    fn event(&mut self, now: Time, event: TraceEvent) -> io::Result<()> {
        if !changes_a_line(event) {
            return Ok(());
        }
        let result = self.begin(now);
        match event {
            TraceEvent::Cwnd { bytes } => self.state.cwnd_packets = bytes / self.mss,
            TraceEvent::Ssthresh { bytes } => {
                self.state.seldom.ssthresh_packets = self.ssthresh(bytes);
            }
            TraceEvent::Rtt { smoothed, .. } => self.state.seldom.srtt = Some(smoothed),
            TraceEvent::Controller(TraceValue { name: NewEcn::SLOPE, value }) => {
                self.state.seldom.slope = Some(value);
            }
            TraceEvent::Acked { bytes } => {
                self.state.acked_packets =
                    self.acked_on_earlier_connections + bytes as f64 / self.mss;
            }
            _ => {}
        }
        result
    }

    fn ssthresh(&self, bytes: u64) -> Option<f64> {
        (bytes != u64::MAX).then(|| bytes as f64 / self.mss)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lines.finish(|line| self.state.write(line))
    }
}

/// True for events that change a line.
fn changes_a_line(event: TraceEvent) -> bool {
    matches!(
        event,
        TraceEvent::Cwnd { .. }
            | TraceEvent::Ssthresh { .. }
            | TraceEvent::Rtt { changed: true, .. }
            | TraceEvent::Controller(TraceValue { name: NewEcn::SLOPE, .. })
            | TraceEvent::Acked { .. }
    )
}

/// A field, behind its comma; the shortest digits that give the number back.
fn write_field(line: &mut Vec<u8>, value: Option<f64>) {
    line.push(b',');
    if let Some(value) = value {
        push_number(line, value);
    }
}
