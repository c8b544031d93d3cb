//! Transfers that come and go, each on a connection of its own, however many are open already.

use super::{Action, Carries, Orders, Program};
use windlass_base::{Rng, Time};
use windlass_traffic::{Arrival, ArrivalStream, Arrivals};

/// Opens a connection for each arrival of a stream.
#[derive(Debug)]
pub(super) struct Arriving {
    stream: ArrivalStream,
    /// When the application started; arrivals count from there.
    start: Time,
    next: Option<Arrival>,
    /// Connections that are not done.
    open: u64,
}

impl Arriving {
    pub(super) fn new(arrivals: &Arrivals, rng: &mut Rng) -> Arriving {
        let stream = arrivals.stream(Rng::new(rng.bits()));
        Arriving { stream, start: Time::ZERO, next: None, open: 0 }
    }

    fn wait_for_next(&mut self, orders: &mut Orders) {
        self.next = self.stream.next();
        match &self.next {
            Some(arrival) => orders.wake_at(self.start + arrival.at),
            None => self.finish(orders),
        }
    }

    fn finish(&self, orders: &mut Orders) {
        orders.over = self.next.is_none() && self.open == 0;
    }
}

impl Program for Arriving {
    fn start(&mut self, now: Time, orders: &mut Orders) {
        self.start = now;
        self.wait_for_next(orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.next = None;
        self.finish(orders);
    }

    fn wake(&mut self, _: Time, orders: &mut Orders) {
        if let Some(arrival) = self.next.take() {
            self.open += 1;
            orders.act(Action::Open(Carries::Stream(Some(arrival.bytes))));
            self.wait_for_next(orders);
        }
    }

    fn connection_done(&mut self, _: Time, _: u32, orders: &mut Orders) {
        self.open -= 1;
        self.finish(orders);
    }
}
