//! Time series as CSV, written as the run goes on.

use super::{FLOW_COLUMNS, QUEUE_COLUMNS, TRANSFER_COLUMNS};
use super::{FlowRow, QueueRow, Rows, Seldom, Series, TransferRow};
use crate::decimal::{push_fraction, push_nanos, push_number};
use crate::model::Scenario;
use std::cell::RefCell;
use std::io::{self, Write};
use windlass_base::{Span, Time};

const NANOS_PER_S: u64 = 1_000_000_000;

/// Writes CSV. A field is empty while its value is not known.
pub type CsvSeries<W> = Series<CsvFlow<W>, CsvTransfers<W>, CsvQueue<W>>;

impl<W: Write> CsvSeries<W> {
    /// Opens all series of a scenario. `open` returns the writer for a name, which needs no buffer.
    ///
    /// # Errors
    ///
    /// The first error of `open`.
    pub fn new(
        scenario: &Scenario,
        mut open: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<CsvSeries<W>> {
        let mut series = Series::of_flows(scenario, &mut open)?;
        series
            .open_queues(scenario, |name| Ok(CsvQueue(Lines::new(open(name)?, &QUEUE_COLUMNS))))?;
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
        open: impl FnMut(&str) -> io::Result<W>,
    ) -> io::Result<CsvSeries<W>> {
        let open = RefCell::new(open);
        let writer = |name: &str| (open.borrow_mut())(name);
        let flow = |name: &str| {
            let lines = Lines::new(writer(name)?, &FLOW_COLUMNS);
            Ok(CsvFlow { lines, seldom_written: None, seldom_text: Vec::new() })
        };
        let transfers = |name: &str| Ok(CsvTransfers(Lines::new(writer(name)?, &TRANSFER_COLUMNS)));
        Series::open(scenario, flow, transfers)
    }

    /// Writes the remaining lines.
    ///
    /// # Errors
    ///
    /// The first error of any write since the series were opened.
    pub fn finish(mut self) -> io::Result<()> {
        self.finish_all()
    }
}

/// Bytes that a series collects before it writes them. A thousand flows have as many of these.
const BUFFER_BYTES: usize = 16 << 10;

#[derive(Debug)]
struct Lines<W> {
    writer: W,
    /// Lines not written yet.
    text: Vec<u8>,
    /// The whole seconds of the last line, and their text.
    seconds: u64,
    seconds_text: Vec<u8>,
}

impl<W: Write> Lines<W> {
    fn new(writer: W, columns: &[&str]) -> Lines<W> {
        let text = format!("time_s,{}\n", columns.join(",")).into_bytes();
        Lines { writer, text, seconds: 0, seconds_text: b"0".to_vec() }
    }

    fn begin(&mut self, time: Time) {
        let seconds = time.as_nanos() / NANOS_PER_S;
        if seconds != self.seconds {
            self.seconds = seconds;
            self.seconds_text.clear();
            push_number(&mut self.seconds_text, seconds as f64);
        }
        self.text.extend_from_slice(&self.seconds_text);
        push_nanos(&mut self.text, (time.as_nanos() % NANOS_PER_S) as u32);
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.push(b'\n');
        if self.text.len() >= BUFFER_BYTES { self.write_text() } else { Ok(()) }
    }

    #[cold]
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

/// The transfers of a flow.
#[derive(Debug)]
pub struct CsvTransfers<W>(Lines<W>);

impl<W: Write> Rows<TransferRow> for CsvTransfers<W> {
    fn push(&mut self, time: Time, row: &TransferRow) -> io::Result<()> {
        let begun_ns = row.begun.as_nanos();
        self.0.begin(time);
        let text = &mut self.0.text;
        text.push(b',');
        push_number(text, (begun_ns / NANOS_PER_S) as f64);
        push_nanos(text, (begun_ns % NANOS_PER_S) as u32);
        text.push(b',');
        push_number(text, row.bytes as f64);
        self.0.end()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

/// A queue's series.
#[derive(Debug)]
pub struct CsvQueue<W>(Lines<W>);

impl<W: Write> Rows<QueueRow> for CsvQueue<W> {
    fn push(&mut self, time: Time, row: &QueueRow) -> io::Result<()> {
        self.0.begin(time);
        self.0.text.push(b',');
        push_number(&mut self.0.text, row.packets as f64);
        write_field(&mut self.0.text, row.average);
        write_field(&mut self.0.text, row.delay.map(Span::as_millis_f64));
        self.0.end()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }
}

/// A flow's series.
#[derive(Debug)]
pub struct CsvFlow<W> {
    lines: Lines<W>,
    /// The values in `seldom_text`.
    seldom_written: Option<Seldom>,
    seldom_text: Vec<u8>,
}

impl<W: Write> Rows<FlowRow> for CsvFlow<W> {
    fn push(&mut self, time: Time, row: &FlowRow) -> io::Result<()> {
        if self.seldom_written != Some(row.seldom) {
            self.seldom_written = Some(row.seldom);
            self.seldom_text.clear();
            write_field(&mut self.seldom_text, row.seldom.ssthresh_packets);
            write_field(&mut self.seldom_text, row.seldom.srtt.map(Span::as_millis_f64));
            write_field(&mut self.seldom_text, row.seldom.slope);
        }
        self.lines.begin(time);
        write_field(&mut self.lines.text, Some(row.cwnd_packets));
        self.lines.text.extend_from_slice(&self.seldom_text);
        write_field(&mut self.lines.text, Some(row.acked_packets));
        self.lines.end()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lines.finish()
    }
}

/// A fraction, behind its comma; the shortest digits that give the number back.
fn write_field(line: &mut Vec<u8>, value: Option<f64>) {
    line.push(b',');
    if let Some(value) = value {
        push_fraction(line, value);
    }
}
