//! The applications of TCP flows: when each acts, and the data that it writes.
//!
//! Calls change a [`TcpSource`]. After each call the host ([`Hosts`](crate::host::Hosts)) asks
//! [`TcpSource::poll_wake`] until it returns `None`, and calls [`TcpSource::act`] at each of these times.

use super::draw::{draw, start_time};
use crate::model::{Flow, TcpApp};
use std::collections::VecDeque;
use windlass_base::{Rng, Span, Time};
use windlass_tcp::Connection;

impl TcpApp {
    /// Bytes that each connection carries; `None`: no end.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            TcpApp::Bulk => None,
            TcpApp::Transfer { bytes } | TcpApp::Repeated { bytes, .. } => Some(*bytes),
        }
    }

    /// True if the application may act again after its start, unless it is stopped.
    pub(crate) fn acts_again(&self) -> bool {
        matches!(self, TcpApp::Repeated { .. })
    }

    /// The pause between connection number `opened` (from 1) and the next, and whether it is the mean
    /// of an exponential distribution; `None` if there is no next.
    fn pause_after(&self, opened: u64) -> Option<(Span, bool)> {
        match self {
            TcpApp::Repeated { pause, exponential, count, .. }
                if count.is_none_or(|count| opened < count) =>
            {
                Some((*pause, *exponential))
            }
            _ => None,
        }
    }
}

/// The application at the sending end of a flow: it opens connections and says what each carries.
#[derive(Debug)]
pub(crate) struct TcpSource {
    app: TcpApp,
    pub(crate) rng: Rng,
    start: Time,
    stop: Option<Time>,
    /// When the application wants to act, without the times that the host knows.
    wakes: VecDeque<Time>,
    opened: u64,
    stopped: bool,
    /// The connection that is being written to.
    pub(crate) current: Option<u32>,
}

/// The task of the host after an application has acted.
#[derive(Debug)]
pub(crate) enum Action {
    /// It opens a connection for this writer.
    Open(Writer),
    /// It lets the writer of the present connection write, if there is one.
    Write,
    /// Nothing: the application has opened its last connection.
    Finish,
}

impl TcpSource {
    pub(crate) fn new(flow: &Flow, jitter: Span, mut rng: Rng) -> TcpSource {
        let start = start_time(flow.start, jitter, &mut rng);
        let stop = flow.stop.map(|stop| Time::ZERO + stop);
        TcpSource {
            app: flow.app.clone(),
            rng,
            start,
            stop,
            wakes: [start].into_iter().chain(stop).collect(),
            opened: 0,
            stopped: false,
            current: None,
        }
    }

    /// A time at which the host must call [`TcpSource::act`]; each is returned once.
    pub(crate) fn poll_wake(&mut self) -> Option<Time> {
        self.wakes.pop_front()
    }

    /// A time of [`TcpSource::poll_wake`] has come. `writer` is that of the present connection.
    pub(crate) fn act(&mut self, now: Time, writer: Option<&mut Writer>) -> Action {
        // Of a start and a stop at the same time the start comes first.
        let starts = self.opened == 0 && now == self.start;
        if !starts && !self.stopped && self.stop.is_some_and(|stop| stop <= now) {
            self.stopped = true;
            if let Some(writer) = writer {
                writer.stop();
            }
            return Action::Write;
        }
        if self.stopped {
            return Action::Finish;
        }
        self.opened += 1;
        Action::Open(Writer { left: self.app.bytes(), closed: false, stopped: false })
    }

    /// A connection is done. Returns true if another one follows.
    pub(crate) fn connection_done(&mut self, now: Time) -> bool {
        if self.stopped {
            return false;
        }
        let Some((pause, exponential)) = self.app.pause_after(self.opened) else { return false };
        self.wakes.push_back(now + draw(pause, exponential, &mut self.rng));
        true
    }

    /// True for transfers, whose completion times are recorded.
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
