//! One connection after the other: bulk, a transfer, repeated transfers.

use super::{Action, Carries, Orders, Program};
use crate::apps::draw::draw;
use windlass_base::{Rng, Span, Time};

/// A pause: fixed, or the mean of an exponential distribution.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pause {
    pub(super) mean: Span,
    pub(super) exponential: bool,
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
    /// One connection without an end.
    pub(super) fn bulk() -> Single {
        Single::new(None, None, Some(1))
    }

    /// One connection of a fixed size.
    pub(super) fn transfer(bytes: u64) -> Single {
        Single::new(Some(bytes), None, Some(1))
    }

    /// Transfers with pauses.
    pub(super) fn repeated(bytes: u64, pause: Pause, count: Option<u64>) -> Single {
        Single::new(Some(bytes), Some(pause), count)
    }

    fn new(bytes: Option<u64>, pause: Option<Pause>, count: Option<u64>) -> Single {
        Single { bytes, pause, count, opened: 0, stopped: false, current: None }
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
    fn start(&mut self, _: Time, orders: &mut Orders, _: &mut Rng) {
        self.open(orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        if let Some(connection) = self.current {
            orders.act(Action::Close { connection });
        }
    }

    fn wake(&mut self, _: Time, orders: &mut Orders, _: &mut Rng) {
        if self.stopped {
            orders.over = true;
        } else {
            self.open(orders);
        }
    }

    fn opened(&mut self, connection: u32) {
        self.current = Some(connection);
    }

    fn connection_done(&mut self, now: Time, _: u32, orders: &mut Orders, rng: &mut Rng) {
        match self.next_pause() {
            Some(pause) => orders.wake_at(now + draw(pause.mean, pause.exponential, rng)),
            None => orders.over = true,
        }
    }
}
