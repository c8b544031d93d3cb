//! Video over HTTP: segments requested one after the other on one connection.

use super::{Action, Carries, Exchange, Figures, Orders, Program};
use crate::model;
use windlass_base::{Rng, Time};
use windlass_traffic::video::Client;

/// Plays a video.
#[derive(Debug)]
pub(super) struct Video {
    client: Client,
    request_bytes: u64,
    /// The next request, until its time comes.
    next: Option<Exchange>,
    /// A request that waits for its response.
    pending: Option<Exchange>,
    connection: Option<u32>,
    stopped: bool,
}

impl Video {
    pub(super) fn new(spec: &model::VideoPlayer, rng: &mut Rng) -> Video {
        Video {
            client: Client::new(spec.video.clone(), Rng::new(rng.bits())),
            request_bytes: spec.request,
            next: None,
            pending: None,
            connection: None,
            stopped: false,
        }
    }

    fn plan(&mut self, now: Time, orders: &mut Orders) {
        match self.client.next_request(now).filter(|_| !self.stopped) {
            Some(request) => {
                self.next = Some(Exchange { request: self.request_bytes, response: request.bytes });
                orders.wake_at(request.at);
            }
            None => self.finish(orders),
        }
    }

    fn finish(&mut self, orders: &mut Orders) {
        if let Some(connection) = self.connection.take() {
            orders.act(Action::Close { connection });
        }
        orders.over = true;
    }
}

impl Program for Video {
    fn start(&mut self, now: Time, orders: &mut Orders) {
        self.plan(now, orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        if self.pending.is_none() {
            self.finish(orders);
        }
    }

    fn wake(&mut self, _: Time, orders: &mut Orders) {
        let Some(exchange) = self.next.take().filter(|_| !self.stopped) else { return };
        self.pending = Some(exchange);
        orders.act(match self.connection {
            Some(connection) => Action::Request { connection, exchange },
            None => Action::Open(Carries::Exchanges(exchange)),
        });
    }

    fn opened(&mut self, connection: u32) {
        self.connection = Some(connection);
    }

    fn response_done(&mut self, now: Time, _: u32, orders: &mut Orders) {
        self.pending = None;
        self.client.segment_arrived(now);
        self.plan(now, orders);
    }

    /// A connection that fails with a segment is replaced, and the segment asked for again.
    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        if self.connection != Some(connection) {
            return;
        }
        self.connection = None;
        match self.pending.take().filter(|_| !self.stopped) {
            Some(exchange) => {
                self.next = Some(exchange);
                orders.wake_at(now);
            }
            None if self.next.is_none() => orders.over = true,
            None => {}
        }
    }

    fn figures(&self, now: Time) -> Option<Figures> {
        Some(Figures::Video(self.client.figures(now)))
    }
}
