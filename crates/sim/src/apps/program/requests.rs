//! Requests and responses: a user who asks, reads, thinks and asks again.

use super::{Action, Carries, Exchange, Orders, Program};
use crate::model::{self, Reuse};
use windlass_base::{Rng, Time};
use windlass_traffic::dialogue::User;

/// Sends one request after the other; the next one follows the response and a time to think.
#[derive(Debug)]
pub(super) struct Requests {
    user: User,
    reuse: Reuse,
    waits_for_others: bool,
    /// The next request, until its time comes.
    next: Option<Exchange>,
    /// The connection that is kept, or that the present request went out on.
    connection: Option<u32>,
    /// A request waits for its response.
    waiting: bool,
    stopped: bool,
}

impl Requests {
    pub(super) fn new(spec: &model::Requests, rng: &mut Rng) -> Requests {
        Requests {
            user: User::new(spec.dialogue.clone(), Rng::new(rng.bits())),
            reuse: spec.reuse,
            waits_for_others: spec.barrier.is_some(),
            next: None,
            connection: None,
            waiting: false,
            stopped: false,
        }
    }

    /// Plans the next request; without one, the application is over.
    fn plan(&mut self, now: Time, orders: &mut Orders) {
        match self.user.next_exchange(now).filter(|_| !self.stopped) {
            Some(exchange) => {
                self.next = Some(Exchange {
                    request: exchange.request_bytes,
                    response: exchange.response_bytes,
                });
                orders.wake_at(exchange.at);
            }
            None => self.finish(orders),
        }
    }

    /// The present request has its response, or never will.
    fn answered(&mut self, now: Time, orders: &mut Orders) {
        self.waiting = false;
        if self.waits_for_others && !self.stopped {
            orders.at_barrier = true;
        } else {
            self.plan(now, orders);
        }
    }

    fn close(&mut self, orders: &mut Orders) {
        if let Some(connection) = self.connection.take() {
            orders.act(Action::Close { connection });
        }
    }

    fn finish(&mut self, orders: &mut Orders) {
        self.close(orders);
        orders.over = true;
    }
}

impl Program for Requests {
    fn start(&mut self, now: Time, orders: &mut Orders) {
        self.plan(now, orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        if !self.waiting {
            self.finish(orders);
        }
    }

    fn wake(&mut self, _: Time, orders: &mut Orders) {
        let Some(exchange) = self.next.take().filter(|_| !self.stopped) else { return };
        self.waiting = true;
        orders.act(match self.connection {
            Some(connection) => Action::Request { connection, exchange },
            None => Action::Open(Carries::Exchanges(exchange)),
        });
    }

    fn opened(&mut self, connection: u32) {
        self.connection = Some(connection);
    }

    fn response_done(&mut self, now: Time, _: u32, orders: &mut Orders) {
        if self.reuse == Reuse::New {
            self.close(orders);
        }
        self.answered(now, orders);
    }

    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        if self.connection == Some(connection) {
            self.connection = None;
            if self.waiting {
                self.answered(now, orders);
            }
        }
    }

    fn barrier_passed(&mut self, now: Time, orders: &mut Orders) {
        self.plan(now, orders);
    }
}
