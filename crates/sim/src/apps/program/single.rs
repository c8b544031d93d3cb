//! One connection after the other: bulk, a transfer, repeated transfers.

use super::{Action, Carries, Orders, Program};
use crate::apps::draw::draw;
use crate::model::TcpApp;
use windlass_base::{Span, Time};

/// A pause: fixed, or the mean of an exponential distribution.
#[derive(Copy, Clone, Debug)]
struct Pause {
    mean: Span,
    exponential: bool,
}

/// Opens a connection, and after its end perhaps the next one.
#[derive(Debug)]
pub(super) struct Single {
    /// Bytes of each connection; `None`: no end.
    bytes: Option<u64>,
    /// The pause before the next connection; `None`: there is none.
    pause: Option<Pause>,
    /// Connections in all; `None`: until the end.
    count: Option<u64>,
    opened: u64,
    stopped: bool,
    /// The last connection.
    current: Option<u32>,
}

impl Single {
    /// The program of a bulk flow, a transfer, or repeated transfers.
    pub(super) fn new(app: &TcpApp) -> Single {
        let (pause, count) = match app {
            TcpApp::Repeated { pause, exponential, count, .. } => {
                (Some(Pause { mean: *pause, exponential: *exponential }), *count)
            }
            _ => (None, Some(1)),
        };
        Single { bytes: app.bytes(), pause, count, opened: 0, stopped: false, current: None }
    }

    fn open(&mut self, orders: &mut Orders) {
        self.opened += 1;
        orders.act(Action::Open(Carries::Stream(self.bytes)));
    }

    /// The pause before the next connection; `None`: the last one was opened.
    fn next_pause(&self) -> Option<Pause> {
        let more = !self.stopped && self.count.is_none_or(|count| self.opened < count);
        self.pause.filter(|_| more)
    }
}

impl Program for Single {
    fn start(&mut self, _: Time, orders: &mut Orders) {
        self.open(orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        if let Some(connection) = self.current {
            orders.act(Action::Close { connection });
        }
    }

    fn wake(&mut self, _: Time, orders: &mut Orders) {
        if self.stopped {
            orders.over = true;
        } else {
            self.open(orders);
        }
    }

    fn opened(&mut self, connection: u32) {
        self.current = Some(connection);
    }

    fn connection_done(&mut self, now: Time, _: u32, orders: &mut Orders) {
        match self.next_pause() {
            Some(Pause { mean, exponential }) => {
                let pause = draw(mean, exponential, &mut orders.rng);
                orders.wake_at(now + pause);
            }
            None => orders.over = true,
        }
    }
}
