//! The file: a header and records.

use serde_json::{Value, json};
use std::io::{self, Write};
use std::time::SystemTime;
use windlass_base::Time;

/// The record separator of JSON text sequences (RFC 7464 §2.2).
const RECORD_SEPARATOR: u8 = 0x1e;
/// The schemas of the events: the QUIC draft's, and that of TCP in docs/reference/qlog.md.
const EVENT_SCHEMAS: [&str; 2] =
    ["urn:ietf:params:qlog:events:quic-14", "urn:windlass:qlog:events:tcp-1"];

/// The end of the connection at which events are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vantage {
    /// The end that opened the connection.
    Client,
    /// The end that accepted it.
    Server,
}

/// The facts in the header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// For people: which connection this is.
    pub title: &'a str,
    /// The end at which events are recorded.
    pub vantage: Vantage,
    /// The time from which the times of events count.
    pub start: Time,
    /// The date at that time; `None` in a simulation.
    pub clock: Option<SystemTime>,
}

/// Writes a file, record by record. After a failed write it writes nothing more.
#[derive(Debug)]
pub struct Log<W: Write> {
    /// Absent after an error.
    out: Option<W>,
    error: Option<io::Error>,
    start: Time,
    /// A record, which is written at once: what has happened is in the file even if the process is
    /// killed.
    record: Vec<u8>,
}

impl<W: Write> Log<W> {
    /// Writes the header.
    pub fn begin(out: W, header: &Header<'_>) -> Log<W> {
        let mut log = Log { out: Some(out), error: None, start: header.start, record: Vec::new() };
        let mut reference = json!({ "clock_type": "monotonic", "epoch": "unknown" });
        if let Some(date) = header.clock {
            reference["wall_clock_time"] =
                humantime::format_rfc3339_millis(date).to_string().into();
        }
        let vantage = match header.vantage {
            Vantage::Client => "client",
            Vantage::Server => "server",
        };
        log.record(&json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": header.title,
            "trace": {
                "common_fields": { "reference_time": reference, "time_format": "relative_to_epoch" },
                "vantage_point": { "name": "windlass", "type": vantage },
                "event_schemas": EVENT_SCHEMAS,
            },
        }));
        log
    }

    /// Writes an event with its name and an object of data.
    pub fn event(&mut self, now: Time, name: &str, data: Value) {
        let time_ms = now.saturating_since(self.start).as_millis_f64();
        self.record(&json!({ "time": time_ms, "name": name, "data": data }));
    }

    fn record(&mut self, value: &Value) {
        let Some(out) = &mut self.out else { return };
        self.record.clear();
        self.record.push(RECORD_SEPARATOR);
        let written = serde_json::to_writer(&mut self.record, value).map_err(io::Error::from);
        self.record.push(b'\n');
        if let Err(error) = written.and_then(|()| out.write_all(&self.record)) {
            (self.out, self.error) = (None, Some(error));
        }
    }

    /// The first failure to write, if any.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// Writes what the writer still holds, and returns the writer.
    ///
    /// # Errors
    ///
    /// The first failure to write.
    pub fn finish(self) -> io::Result<W> {
        match (self.out, self.error) {
            (Some(mut out), _) => out.flush().map(|()| out),
            (None, error) => Err(error.unwrap_or_else(|| io::ErrorKind::Other.into())),
        }
    }
}
