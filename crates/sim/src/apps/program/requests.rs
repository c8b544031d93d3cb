//! Requests and responses: a user who asks, reads, thinks and asks again.

use super::{Action, Carries, Exchange, Orders, Program};
use crate::apps::draw::draw;
use crate::model::{self, Reuse};
use windlass_base::{Rng, Time};

/// Sends one request after the other; the next one follows the response and a time to think.
#[derive(Debug)]
pub(super) struct Requests {
    spec: model::Requests,
    /// Requests sent.
    sent: u64,
    /// The connection that is kept, or that the present request went out on.
    connection: Option<u32>,
    /// A request waits for its response.
    waiting: bool,
    stopped: bool,
}

impl Requests {
    pub(super) fn new(spec: &model::Requests) -> Requests {
        Requests { spec: spec.clone(), sent: 0, connection: None, waiting: false, stopped: false }
    }

    fn ask(&mut self, orders: &mut Orders, rng: &mut Rng) {
        let exchange =
            Exchange { request: self.spec.request, response: self.spec.response.draw(rng) };
        self.sent += 1;
        self.waiting = true;
        orders.act(match self.connection {
            Some(connection) => Action::Request { connection, exchange },
            None => Action::Open(Carries::Exchanges(exchange)),
        });
    }

    /// The present request has its response, or never will.
    fn answered(&mut self, now: Time, orders: &mut Orders, rng: &mut Rng) {
        self.waiting = false;
        let last = self.spec.count.is_some_and(|count| self.sent >= count);
        if last || self.stopped {
            self.close(orders);
            orders.over = true;
        }
        if self.spec.barrier.is_some() {
            orders.at_barrier = true;
        } else if !orders.over {
            self.think(now, orders, rng);
        }
    }

    fn think(&self, now: Time, orders: &mut Orders, rng: &mut Rng) {
        orders.wake_at(now + draw(self.spec.think, self.spec.exponential, rng));
    }

    fn close(&mut self, orders: &mut Orders) {
        if let Some(connection) = self.connection.take() {
            orders.act(Action::Close { connection });
        }
    }
}

impl Program for Requests {
    fn start(&mut self, _: Time, orders: &mut Orders, rng: &mut Rng) {
        self.ask(orders, rng);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        if !self.waiting {
            self.close(orders);
            orders.over = true;
        }
    }

    fn wake(&mut self, _: Time, orders: &mut Orders, rng: &mut Rng) {
        if !self.stopped {
            self.ask(orders, rng);
        }
    }

    fn opened(&mut self, connection: u32) {
        self.connection = Some(connection);
    }

    fn response_done(&mut self, now: Time, _: u32, orders: &mut Orders, rng: &mut Rng) {
        if self.spec.reuse == Reuse::New {
            self.close(orders);
        }
        self.answered(now, orders, rng);
    }

    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders, rng: &mut Rng) {
        if self.connection == Some(connection) {
            self.connection = None;
            if self.waiting {
                self.answered(now, orders, rng);
            }
        }
    }

    fn barrier_passed(&mut self, now: Time, orders: &mut Orders, rng: &mut Rng) {
        if !self.stopped && self.spec.count.is_none_or(|count| self.sent < count) {
            self.think(now, orders, rng);
        }
    }
}
