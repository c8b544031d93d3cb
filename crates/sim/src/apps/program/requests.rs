//! Requests and responses: a user who asks, reads, thinks and asks again.

use super::asking::Asking;
use super::{Exchange, Orders, Program};
use crate::model::{self, Reuse};
use windlass_base::{Rng, Time};
use windlass_traffic::dialogue::User;

/// Sends one request after the other; the next one follows the response and a time to think.
#[derive(Debug)]
pub(super) struct Requests {
    user: User,
    reuse: Reuse,
    waits_for_others: bool,
    asking: Asking,
}

impl Requests {
    pub(super) fn new(spec: &model::Requests, rng: &mut Rng) -> Requests {
        Requests {
            user: User::new(spec.dialogue.clone(), Rng::new(rng.bits())),
            reuse: spec.reuse,
            waits_for_others: spec.barrier.is_some(),
            asking: Asking::default(),
        }
    }

    /// Plans the next request; without one, the application is over.
    fn plan(&mut self, now: Time, orders: &mut Orders) {
        match self.user.next_exchange(now).filter(|_| !self.asking.is_stopped()) {
            Some(next) => {
                let exchange =
                    Exchange { request: next.request_bytes, response: next.response_bytes };
                self.asking.plan(next.at, exchange, orders);
            }
            None => self.asking.finish(orders),
        }
    }

    /// The present request has its response, or never will.
    fn go_on(&mut self, now: Time, orders: &mut Orders) {
        if self.waits_for_others && !self.asking.is_stopped() {
            orders.at_barrier = true;
        } else {
            self.plan(now, orders);
        }
    }
}

impl Program for Requests {
    fn start(&mut self, now: Time, orders: &mut Orders) {
        self.plan(now, orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.asking.stop(orders);
    }

    fn wake(&mut self, _: Time, orders: &mut Orders) {
        self.asking.wake(orders);
    }

    fn opened(&mut self, connection: u32) {
        self.asking.opened(connection);
    }

    fn response_done(&mut self, now: Time, _: u32, orders: &mut Orders) {
        self.asking.answered();
        if self.reuse == Reuse::New {
            self.asking.close(orders);
        }
        self.go_on(now, orders);
    }

    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        if self.asking.lose(connection).is_some() {
            self.go_on(now, orders);
        }
    }

    fn barrier_passed(&mut self, now: Time, orders: &mut Orders) {
        self.plan(now, orders);
    }
}
