//! Video over HTTP: segments requested one after the other on one connection.

use super::asking::Asking;
use super::{Exchange, Figures, Orders, Program};
use crate::model;
use windlass_base::{Rng, Time};
use windlass_traffic::video::Client;

/// Plays a video.
#[derive(Debug)]
pub(super) struct Video {
    client: Client,
    request_bytes: u64,
    asking: Asking,
}

impl Video {
    pub(super) fn new(spec: &model::VideoPlayer, rng: &mut Rng) -> Video {
        Video {
            client: Client::new(spec.video.clone(), Rng::new(rng.bits())),
            request_bytes: spec.request,
            asking: Asking::default(),
        }
    }

    fn plan(&mut self, now: Time, orders: &mut Orders) {
        match self.client.next_request(now).filter(|_| !self.asking.is_stopped()) {
            Some(next) => {
                let exchange = Exchange { request: self.request_bytes, response: next.bytes };
                self.asking.plan(next.at, exchange, orders);
            }
            None => self.asking.finish(orders),
        }
    }
}

impl Program for Video {
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
        self.client.segment_arrived(now);
        self.plan(now, orders);
    }

    /// A connection that fails with a segment is replaced, and the segment asked for again.
    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        match self.asking.lose(connection) {
            Some(_) if self.asking.is_stopped() => self.asking.finish(orders),
            Some(exchange) => self.asking.plan(now, exchange, orders),
            None => {}
        }
    }

    fn figures(&self, now: Time) -> Option<Figures> {
        Some(Figures::Video(self.client.figures(now)))
    }
}
