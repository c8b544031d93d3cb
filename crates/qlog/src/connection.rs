//! The events of one connection.

use crate::log::{Header, Log};
use serde_json::{Map, Value, json};
use std::io::{self, Write};
use std::net::SocketAddr;
use windlass_base::{Span, Time};
use windlass_tcp::cc::CongestionCause;
use windlass_tcp::{Connection, Observer, State, TraceEvent};

/// The path of a session's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// This host's address, or that of its relay.
    pub local: SocketAddr,
    /// The peer's address, or that of its relay.
    pub remote: SocketAddr,
    /// Datagrams pass a relay.
    pub relayed: bool,
}

/// Observes a connection and writes its events.
#[derive(Debug)]
pub struct ConnectionLog<W: Write> {
    log: Log<W>,
    /// Metrics that changed at the time of the last event. One call into the engine changes several
    /// of them, which become one record.
    changed: Map<String, Value>,
    at: Time,
    state: Option<State>,
    min_rtt: Span,
    window: Window,
    /// Why the window was reduced at the time of the last event.
    cause: Option<CongestionCause>,
}

/// The state of congestion control, as far as it follows from the windows.
#[derive(Clone, Copy, Debug)]
struct Window {
    cwnd: f64,
    ssthresh: u64,
    phase: Option<&'static str>,
}

impl Window {
    fn phase(self) -> &'static str {
        // RFC 5681 §3.1.
        if self.cwnd < self.ssthresh as f64 { "slow_start" } else { "congestion_avoidance" }
    }
}

impl<W: Write> ConnectionLog<W> {
    /// Writes the header, and the state and window of the connection. Pass the result to it as its
    /// observer from then on.
    pub fn begin(out: W, header: &Header<'_>, connection: &Connection) -> ConnectionLog<W> {
        let (cwnd, ssthresh) = (connection.cwnd(), connection.ssthresh());
        let mut log = ConnectionLog {
            log: Log::begin(out, header),
            changed: Map::new(),
            at: header.start,
            state: None,
            min_rtt: Span::MAX,
            window: Window { cwnd, ssthresh, phase: None },
            cause: None,
        };
        log.state_updated(header.start, connection.state());
        log.metric("congestion_window", cwnd as u64);
        log
    }

    /// Writes an event that is not the engine's, such as a change of the path.
    pub fn event(&mut self, now: Time, name: &str, data: Value) {
        self.write_metrics();
        self.log.event(now, name, data);
    }

    /// Writes the path that the connection's datagrams take from now on; `None`: there is none.
    pub fn path_updated(&mut self, now: Time, path: Option<&Path>) {
        let data = match path {
            Some(Path { local, remote, relayed }) => json!({
                "path": if *relayed { "relayed" } else { "direct" },
                "local": local.to_string(),
                "remote": remote.to_string(),
            }),
            None => json!({ "path": "none" }),
        };
        self.event(now, "tcp:path_updated", data);
    }

    /// The first failure to write, if any.
    pub fn error(&self) -> Option<&io::Error> {
        self.log.error()
    }

    /// Writes the last metrics and what the writer still holds, and returns the writer.
    ///
    /// # Errors
    ///
    /// The first failure to write.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_metrics();
        self.log.finish()
    }

    fn metric(&mut self, name: &str, value: impl Into<Value>) {
        self.changed.insert(name.to_owned(), value.into());
    }

    fn write_metrics(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let metrics = core::mem::take(&mut self.changed);
        self.log.event(self.at, "quic:recovery_metrics_updated", metrics.into());
        self.write_phase();
    }

    fn write_phase(&mut self) {
        let cause = self.cause.take();
        let (old, new) = (self.window.phase, self.window.phase());
        if old == Some(new) {
            return;
        }
        self.window.phase = Some(new);
        let mut data = json!({ "new": new });
        if let Some(old) = old {
            data["old"] = old.into();
        }
        if let Some(cause) = cause {
            data["trigger"] = cause_name(cause).into();
        }
        self.log.event(self.at, "quic:congestion_state_updated", data);
    }

    fn state_updated(&mut self, now: Time, new: State) {
        let mut data = json!({ "new": state_name(new) });
        if let Some(old) = self.state.replace(new) {
            data["old"] = state_name(old).into();
        }
        self.event(now, "tcp:state_updated", data);
    }
}

fn cause_name(cause: CongestionCause) -> &'static str {
    match cause {
        CongestionCause::Timeout => "timeout",
        CongestionCause::FastRetransmit => "packet_loss",
        CongestionCause::Ecn => "ecn",
    }
}

/// The names of RFC 9293 §3.3.2 in the style of qlog.
fn state_name(state: State) -> String {
    let mut name = String::new();
    for letter in format!("{state:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

impl<W: Write> Observer for ConnectionLog<W> {
    fn observe(&mut self, now: Time, event: TraceEvent) {
        if now != self.at {
            self.write_metrics();
            self.at = now;
        }
        match event {
            TraceEvent::State(new) => self.state_updated(now, new),
            TraceEvent::Cwnd { bytes } => {
                self.window.cwnd = bytes;
                self.metric("congestion_window", bytes as u64);
            }
            TraceEvent::Ssthresh { bytes } => {
                self.window.ssthresh = bytes;
                self.metric("ssthresh", bytes);
            }
            TraceEvent::Rtt { exact, smoothed, .. } => {
                if exact < self.min_rtt {
                    self.min_rtt = exact;
                    self.metric("min_rtt", exact.as_millis_f64());
                }
                self.metric("latest_rtt", exact.as_millis_f64());
                self.metric("smoothed_rtt", smoothed.as_millis_f64());
            }
            TraceEvent::Controller(traced) => self.metric(traced.name, traced.value),
            TraceEvent::Acked { bytes } => self.metric("acked_bytes", bytes),
            TraceEvent::Retransmit { offset, len } => {
                self.event(now, "tcp:retransmission", json!({ "offset": offset, "length": len }));
            }
            TraceEvent::Congestion(cause) => {
                self.cause = Some(cause);
                self.event(now, "tcp:congestion", json!({ "cause": cause_name(cause) }));
            }
            TraceEvent::Timeout => self.event(now, "tcp:timeout", json!({})),
            TraceEvent::Undo => self.event(now, "tcp:reduction_undone", json!({})),
            TraceEvent::CeReceived { count } => {
                self.event(now, "tcp:ce_received", json!({ "count": count }));
            }
            TraceEvent::EceReceived => self.event(now, "tcp:ece_received", json!({})),
            other => self.event(now, "tcp:other", json!({ "event": format!("{other:?}") })),
        }
    }
}
