//! Time series as CSV, written as the run goes on.

use crate::decimal::{push_number, push_seconds};
use crate::record::Recorder;
use crate::scenario::model::{LinkDirection, Scenario};
use crate::summary::reported_queues;
use std::io::{self, Write};
use windlass_base::{Span, Time};
use windlass_tcp::{Connection, TraceEvent};

/// The version of the series' format: names and meanings of the columns. It stands in the summary
/// of the run, where no reader of CSV stumbles over it.
pub const SCHEMA_VERSION: u32 = 1;

/// First line of a flow's series.
const FLOW_HEADER: &str = "time_s,cwnd_packets,ssthresh_packets,srtt_ms,slope,acked_packets\n";
/// First line of a queue's series.
const QUEUE_HEADER: &str = "time_s,queue_packets,average_queue\n";

/// Writes a CSV series for each TCP flow and each reported queue
/// ([`reported_queues`]): a line for every time at which something changed. What is not known (yet)
/// is an empty field.
///
/// Names of series are `flow-NAME` and `queue-LINK-forward` or `queue-LINK-backward`. Errors of
/// writing are kept until [`Series::finish`].
#[derive(Debug)]
pub struct Series<W> {
    flows: Vec<FlowSeries<W>>,
    queues: Vec<Option<QueueSeries<W>>>,
    error: Option<io::Error>,
}

impl<W: Write> Series<W> {
    /// Opens all series of a scenario: `open` gives the writer for a name. Writers need no
    /// buffer.
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

    /// Opens the series of the flows alone. Those of the queues have a line or two for each packet,
    /// which are most lines of a run.
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

    /// Writes what is left; the first error that there was.
    pub fn finish(mut self) -> io::Result<()> {
        for flow in &mut self.flows {
            flow.flush()?;
        }
        for queue in self.queues.iter_mut().flatten() {
            queue.flush()?;
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
            let result = queue.lines.at(now);
            queue.lines.pending = Some(QueueState { packets, average });
            self.keep_error(result);
        }
    }
}

fn index(direction: LinkDirection) -> usize {
    direction.link * 2 + usize::from(direction.reverse)
}

/// A state that changes, and how a line tells it.
trait State {
    fn write(&self, line: &mut Vec<u8>);
}

/// Bytes that a series collects before it writes them. A thousand flows have as many of these.
const BUFFER_BYTES: usize = 16 << 10;

/// Writes one line for each time, with the last state of that time.
#[derive(Debug)]
struct Lines<W, S> {
    writer: W,
    time: Time,
    /// The state at `time`, not written yet.
    pending: Option<S>,
    /// Lines not written yet.
    text: Vec<u8>,
}

impl<W: Write, S: State> Lines<W, S> {
    fn new(writer: W, header: &str) -> Lines<W, S> {
        Lines { writer, time: Time::ZERO, pending: None, text: header.into() }
    }

    /// The state is about to change at `now`.
    fn at(&mut self, now: Time) -> io::Result<()> {
        if now != self.time {
            self.write_pending()?;
            self.time = now;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let Some(state) = self.pending.take() else { return Ok(()) };
        push_seconds(&mut self.text, self.time);
        state.write(&mut self.text);
        self.text.push(b'\n');
        if self.text.len() >= BUFFER_BYTES { self.write_text() } else { Ok(()) }
    }

    #[cold]
    fn write_text(&mut self) -> io::Result<()> {
        let result = self.writer.write_all(&self.text);
        self.text.clear();
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_pending()?;
        self.write_text()?;
        self.writer.flush()
    }
}

#[derive(Debug)]
struct QueueSeries<W> {
    lines: Lines<W, QueueState>,
}

#[derive(Copy, Clone, Debug)]
struct QueueState {
    packets: usize,
    average: Option<f64>,
}

impl State for QueueState {
    fn write(&self, line: &mut Vec<u8>) {
        write_field(line, Some(self.packets as f64));
        write_field(line, self.average);
    }
}

impl<W: Write> QueueSeries<W> {
    fn new(writer: W) -> QueueSeries<W> {
        let mut lines = Lines::new(writer, QUEUE_HEADER);
        lines.pending = Some(QueueState { packets: 0, average: None });
        QueueSeries { lines }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}

#[derive(Debug)]
struct FlowSeries<W> {
    lines: Lines<W, FlowState>,
    state: FlowState,
    mss: f64,
    acked_on_earlier_connections: f64,
}

#[derive(Copy, Clone, Debug, Default)]
struct FlowState {
    cwnd_packets: f64,
    ssthresh_packets: Option<f64>,
    srtt: Option<Span>,
    slope: Option<f64>,
    acked_packets: f64,
}

impl State for FlowState {
    fn write(&self, line: &mut Vec<u8>) {
        write_field(line, Some(self.cwnd_packets));
        write_field(line, self.ssthresh_packets);
        write_field(line, self.srtt.map(Span::as_millis_f64));
        write_field(line, self.slope);
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

    fn connection_started(&mut self, now: Time, connection: &Connection) -> io::Result<()> {
        self.lines.at(now)?;
        self.mss = f64::from(connection.mss());
        self.acked_on_earlier_connections = self.state.acked_packets;
        self.state.cwnd_packets = connection.cwnd() / self.mss;
        self.state.ssthresh_packets = self.ssthresh(connection.ssthresh());
        self.state.srtt = None;
        self.state.slope = connection.slope();
        self.lines.pending = Some(self.state);
        Ok(())
    }

    /// The handshake is over: the size of a segment is known, and the window in it.
    fn connection_established(&mut self, now: Time, connection: &Connection) -> io::Result<()> {
        self.lines.at(now)?;
        self.mss = f64::from(connection.mss());
        self.state.cwnd_packets = connection.cwnd() / self.mss;
        self.lines.pending = Some(self.state);
        Ok(())
    }

    fn event(&mut self, now: Time, event: TraceEvent) -> io::Result<()> {
        match event {
            TraceEvent::Cwnd { bytes } => self.state.cwnd_packets = bytes / self.mss,
            TraceEvent::Ssthresh { bytes } => self.state.ssthresh_packets = self.ssthresh(bytes),
            TraceEvent::Rtt { smoothed, changed: true, .. } => self.state.srtt = Some(smoothed),
            TraceEvent::Slope(slope) => self.state.slope = Some(slope),
            TraceEvent::Acked { bytes } => {
                self.state.acked_packets =
                    self.acked_on_earlier_connections + bytes as f64 / self.mss;
            }
            _ => return Ok(()),
        }
        self.lines.at(now)?;
        self.lines.pending = Some(self.state);
        Ok(())
    }

    fn ssthresh(&self, bytes: u64) -> Option<f64> {
        (bytes != u64::MAX).then(|| bytes as f64 / self.mss)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}

/// A field, behind its comma; the shortest digits that give the number back.
fn write_field(line: &mut Vec<u8>, value: Option<f64>) {
    line.push(b',');
    if let Some(value) = value {
        push_number(line, value);
    }
}
