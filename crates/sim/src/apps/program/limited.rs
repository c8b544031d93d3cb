//! A sender that its application limits: so many bytes in each interval.

use super::{Action, Carries, Orders, Program};
use windlass_base::{Span, Time};

/// Writes the same number of bytes in each interval, on one connection.
#[derive(Debug)]
pub(super) struct Limited {
    bytes: u64,
    interval: Span,
    connection: Option<u32>,
    stopped: bool,
}

impl Limited {
    pub(super) fn new(bytes: u64, interval: Span) -> Limited {
        Limited { bytes, interval, connection: None, stopped: false }
    }
}

impl Program for Limited {
    fn start(&mut self, now: Time, orders: &mut Orders) {
        orders.act(Action::Open(Carries::Writes(self.bytes)));
        orders.wake_at(now + self.interval);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        if let Some(connection) = self.connection {
            orders.act(Action::Close { connection });
        }
    }

    fn wake(&mut self, now: Time, orders: &mut Orders) {
        if let Some(connection) = self.connection
            && !self.stopped
        {
            orders.act(Action::Write { connection, bytes: self.bytes });
            orders.wake_at(now + self.interval);
        }
    }

    fn opened(&mut self, connection: u32) {
        self.connection = Some(connection);
    }

    fn connection_done(&mut self, _: Time, _: u32, orders: &mut Orders) {
        self.stopped = true;
        orders.over = true;
    }
}
