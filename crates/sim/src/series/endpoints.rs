//! Time series of the flows of other transports, as CSV: `endpoint-NAME`, a line for each change of the sender's
//! state and for each datagram that it sends, and `datagrams-NAME`, a line for each datagram of both ends.

use crate::decimal::{push_nanos, push_number};
use crate::endpoint::{Datagram, EndpointEvent, EndpointStatus, Side, Transmit};
use crate::model::Scenario;
use crate::record::{Divide, Owners, Recorder};
use std::io::{self, Write};
use windlass_base::{Ecn, Span, Time};

/// The columns of a flow after `time_s`.
pub const ENDPOINT_COLUMNS: [&str; 7] = [
    "sent_datagrams",
    "sent_bytes",
    "cwnd_bytes",
    "ssthresh_bytes",
    "srtt_ms",
    "lost_packets",
    "delivered_bytes",
];
/// The columns of the datagrams after `time_s`. `size` is without IP and UDP headers, `ecn` the two bits of the IP
/// header.
pub const DATAGRAM_COLUMNS: [&str; 4] = ["end", "event", "size", "ecn"];

const NANOS_PER_S: u64 = 1_000_000_000;
/// Bytes that a file collects before it writes them.
const BUFFER_BYTES: usize = 16 << 10;

/// Records these series. [`EndpointSeries::finish`] returns errors of the writers.
#[derive(Debug)]
pub struct EndpointSeries<W> {
    flows: Vec<Flow<W>>,
    error: Option<io::Error>,
}

#[derive(Debug)]
struct Flow<W> {
    state: Lines<W>,
    /// None: the series of the datagrams was not asked for.
    datagrams: Option<Lines<W>>,
    time: Time,
    /// The state of `time` is not written yet.
    due: bool,
    sent_datagrams: u64,
    sent_bytes: u64,
    delivered_bytes: u64,
    status: EndpointStatus,
}

impl<W: Write> EndpointSeries<W> {
    /// Opens the series of a scenario, those of each datagram only if `datagrams`. `open` returns the writer for a
    /// name, which needs no buffer.
    ///
    /// # Errors
    ///
    /// The first error of `open`.
    pub fn new(
        scenario: &Scenario,
        datagrams: bool,
        mut open: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<EndpointSeries<W>> {
        let mut flows = vec![];
        for flow in &scenario.endpoints {
            let name = &flow.name;
            let state = Lines::new(open(&format!("endpoint-{name}"))?, &ENDPOINT_COLUMNS);
            let writer = datagrams.then(|| open(&format!("datagrams-{name}"))).transpose()?;
            let datagrams = writer.map(|writer| Lines::new(writer, &DATAGRAM_COLUMNS));
            flows.push(Flow {
                state,
                datagrams,
                time: Time::ZERO,
                due: false,
                sent_datagrams: 0,
                sent_bytes: 0,
                delivered_bytes: 0,
                status: EndpointStatus::default(),
            });
        }
        Ok(EndpointSeries { flows, error: None })
    }

    /// Writes the remaining lines.
    ///
    /// # Errors
    ///
    /// The first error of any write since the series were opened.
    pub fn finish(mut self) -> io::Result<()> {
        for flow in &mut self.flows {
            flow.pass_on()?;
            flow.state.finish()?;
            if let Some(datagrams) = &mut flow.datagrams {
                datagrams.finish()?;
            }
        }
        self.error.take().map_or(Ok(()), Err)
    }

    fn change(
        &mut self,
        flow: usize,
        now: Time,
        change: impl FnOnce(&mut Flow<W>) -> io::Result<()>,
    ) {
        let flow = &mut self.flows[flow];
        let result = flow.begin(now).and_then(|()| change(flow));
        if let Err(error) = result {
            self.error.get_or_insert(error);
        }
    }
}

/// Flows of other transports run in one part.
impl<W: Write + Send> Divide for EndpointSeries<W> {
    fn divide(&mut self, parts: usize, _: &Owners) -> Option<Vec<EndpointSeries<W>>> {
        let none = || EndpointSeries { flows: vec![], error: None };
        self.flows.is_empty().then(|| (0..parts).map(|_| none()).collect())
    }

    fn unite(&mut self, _: Vec<EndpointSeries<W>>) {}
}

impl<W: Write> Recorder for EndpointSeries<W> {
    fn datagram_sent(&mut self, now: Time, flow: usize, side: Side, transmit: &Transmit, _: &[u8]) {
        let Transmit { size, ecn } = *transmit;
        self.change(flow, now, |flow| {
            if side == Side::Sender {
                flow.sent_datagrams += 1;
                flow.sent_bytes += u64::from(size);
                flow.due = true;
            }
            flow.datagram(now, side, "sent", size, ecn)
        });
    }

    fn datagram_received(&mut self, now: Time, flow: usize, side: Side, datagram: &Datagram) {
        let Datagram { size, ecn, .. } = *datagram;
        self.change(flow, now, |flow| flow.datagram(now, side, "received", size, ecn));
    }

    fn endpoint_status(&mut self, now: Time, flow: usize, status: &EndpointStatus) {
        self.change(flow, now, |flow| {
            flow.status = *status;
            flow.due = true;
            Ok(())
        });
    }

    fn endpoint_event(&mut self, now: Time, flow: usize, side: Side, event: &EndpointEvent) {
        if let (EndpointEvent::Delivered { bytes }, Side::Receiver) = (event, side) {
            self.change(flow, now, |flow| {
                flow.delivered_bytes += bytes;
                flow.due = true;
                Ok(())
            });
        }
    }
}

impl<W: Write> Flow<W> {
    /// The state is about to change at `now`: that of an earlier time is written.
    fn begin(&mut self, now: Time) -> io::Result<()> {
        let result = if now == self.time { Ok(()) } else { self.pass_on() };
        self.time = now;
        result
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.due) {
            return Ok(());
        }
        let EndpointStatus { cwnd_bytes, ssthresh_bytes, srtt, lost_packets, .. } = self.status;
        self.state.begin(self.time);
        self.state.number(Some(self.sent_datagrams));
        self.state.number(Some(self.sent_bytes));
        self.state.number(cwnd_bytes);
        self.state.number(ssthresh_bytes);
        self.state.text.push(b',');
        if let Some(srtt) = srtt.map(Span::as_millis_f64) {
            self.state.text.extend_from_slice(srtt.to_string().as_bytes());
        }
        self.state.number(lost_packets);
        self.state.number(Some(self.delivered_bytes));
        self.state.end()
    }

    fn datagram(
        &mut self,
        now: Time,
        side: Side,
        event: &str,
        size: u32,
        ecn: Ecn,
    ) -> io::Result<()> {
        let Some(lines) = &mut self.datagrams else { return Ok(()) };
        let end = match side {
            Side::Sender => "sender",
            Side::Receiver => "receiver",
        };
        lines.begin(now);
        write!(lines.text, ",{end},{event},{size},{}", ecn.bits())?;
        lines.end()
    }
}

#[derive(Debug)]
struct Lines<W> {
    writer: W,
    /// Lines not written yet.
    text: Vec<u8>,
}

impl<W: Write> Lines<W> {
    fn new(writer: W, columns: &[&str]) -> Lines<W> {
        Lines { writer, text: format!("time_s,{}\n", columns.join(",")).into_bytes() }
    }

    fn begin(&mut self, time: Time) {
        push_number(&mut self.text, (time.as_nanos() / NANOS_PER_S) as f64);
        push_nanos(&mut self.text, (time.as_nanos() % NANOS_PER_S) as u32);
    }

    /// A whole number behind its comma; nothing if it is not known.
    fn number(&mut self, value: Option<u64>) {
        self.text.push(b',');
        if let Some(value) = value {
            push_number(&mut self.text, value as f64);
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.push(b'\n');
        if self.text.len() >= BUFFER_BYTES { self.write_text() } else { Ok(()) }
    }

    fn write_text(&mut self) -> io::Result<()> {
        let result = self.writer.write_all(&self.text);
        self.text.clear();
        result
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_text()?;
        self.writer.flush()
    }
}
