//! The qlog files of a run: one for each connection, as its sender sees it.

use std::fs::File;
use std::io::{self, BufWriter};
use windlass_base::Time;
use windlass_qlog::{ConnectionLog, Header, Vantage};
use windlass_sim::{Recorder, Scenario, model};
use windlass_tcp::{Connection, Observer, TraceEvent};

type Log = ConnectionLog<BufWriter<File>>;

/// Writes the events of all flows, but of those with several connections at a time.
pub(super) struct QlogFiles<'a, F> {
    flows: Vec<Flow<'a>>,
    open: F,
    error: Option<io::Error>,
}

struct Flow<'a> {
    name: &'a str,
    /// Connections so far.
    connections: u32,
    log: Option<Log>,
    /// It has several connections at a time, whose events would be mixed.
    left_out: bool,
}

impl<'a, F: FnMut(&str) -> io::Result<File>> QlogFiles<'a, F> {
    /// `open` makes the file of a name.
    pub(super) fn new(scenario: &'a Scenario, open: F) -> QlogFiles<'a, F> {
        let flow = |spec: &'a model::Flow| Flow {
            name: &spec.name,
            connections: 0,
            log: None,
            left_out: spec.app.is_concurrent(),
        };
        QlogFiles { flows: scenario.flows.iter().map(flow).collect(), open, error: None }
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The first failure to make or to write a file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        for flow in &mut self.flows {
            self.error = self.error.take().or(end(flow.log.take()));
        }
        self.error.map_or(Ok(()), Err)
    }
}

/// Ends a file; an error if it could not be written.
fn end(log: Option<Log>) -> Option<io::Error> {
    log?.finish().and_then(|writer| writer.into_inner().map_err(io::Error::from)).err()
}

impl<F: FnMut(&str) -> io::Result<File>> Recorder for QlogFiles<'_, F> {
    fn connection_started(&mut self, now: Time, flow: usize, connection: &Connection) {
        let flow = &mut self.flows[flow];
        if flow.left_out {
            return;
        }
        flow.connections += 1;
        let ended = end(flow.log.take());
        let title = format!(
            "flow {}, connection {}, from {} s on",
            flow.name,
            flow.connections,
            (now - Time::ZERO).as_secs_f64()
        );
        let header = Header { title: &title, vantage: Vantage::Client, start: now, clock: None };
        let opened = (self.open)(&format!("flow-{}.{}", flow.name, flow.connections));
        let failed = match opened {
            Ok(file) => {
                let log = ConnectionLog::begin(BufWriter::new(file), &header, connection);
                flow.log = Some(log);
                None
            }
            Err(error) => Some(error),
        };
        self.error = self.error.take().or(ended).or(failed);
    }

    fn flow_event(&mut self, now: Time, flow: usize, event: TraceEvent) {
        if let Some(log) = &mut self.flows[flow].log {
            log.observe(now, event);
        }
    }
}
