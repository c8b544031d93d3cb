use super::draw::{draw, start_time};
use crate::model::{Flow, TcpApp};
use windlass_base::{Rng, Span, Time};
use windlass_tcp::Connection;

/// The application at the sending end of a flow: it opens connections and says what each carries.
#[derive(Debug)]
pub(crate) struct TcpSource {
    app: TcpApp,
    pub(crate) rng: Rng,
    pub(crate) start: Time,
    opened: u64,
    stopped: bool,
    /// The connection that is being written to.
    pub(crate) current: Option<u32>,
}

impl TcpSource {
    pub(crate) fn new(flow: &Flow, jitter: Span, mut rng: Rng) -> TcpSource {
        let start = start_time(flow.start, jitter, &mut rng);
        TcpSource { app: flow.app.clone(), rng, start, opened: 0, stopped: false, current: None }
    }

    /// Opens the next connection and returns its writer; `None` once the application opens no more.
    pub(crate) fn open(&mut self) -> Option<Writer> {
        if self.stopped {
            return None;
        }
        self.opened += 1;
        Some(Writer { left: self.app.bytes(), closed: false, stopped: false })
    }

    /// A connection is done: how long until the next is opened, if any.
    pub(crate) fn pause(&mut self) -> Option<Span> {
        if self.stopped {
            return None;
        }
        let (pause, exponential) = self.app.pause_after(self.opened)?;
        Some(draw(pause, exponential, &mut self.rng))
    }

    /// No further connections.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// True for transfers, whose completion is news.
    pub(crate) fn has_size(&self) -> bool {
        self.app.bytes().is_some()
    }
}

/// Data that the application has not yet written to its connection.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Writer {
    /// Bytes; `None` for no end.
    left: Option<u64>,
    closed: bool,
    stopped: bool,
}

impl Writer {
    /// Writes as much as the connection takes, and closes it behind the last byte.
    pub(crate) fn fill(&mut self, now: Time, connection: &mut Connection) {
        if self.closed {
            return;
        }
        match &mut self.left {
            None => drop(connection.write_endlessly()),
            Some(left) => {
                if *left > 0 {
                    *left -= connection.write(*left).unwrap_or(0);
                }
                if *left == 0 {
                    self.closed = true;
                    connection.close(now);
                }
            }
        }
    }

    /// Nothing more is to be written.
    pub(crate) fn stop(&mut self) {
        self.stopped = !self.closed;
        self.left = Some(0);
    }

    /// True if the writer came to its own end.
    pub(crate) fn wrote_all(&self) -> bool {
        self.closed && !self.stopped
    }
}
