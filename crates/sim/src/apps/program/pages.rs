//! Loads of pages, one after the other: a document and its objects over several connections.

use super::{Action, Carries, Exchange, Figures, Orders, PageLoads, Program};
use crate::apps::draw::draw;
use crate::model;
use std::collections::VecDeque;
use windlass_base::{Rng, Time};
use windlass_traffic::page::{Load, Request};

/// Loads a page, thinks, and loads the next one on new connections.
#[derive(Debug)]
pub(super) struct Pages {
    spec: model::Pages,
    rng: Rng,
    steady_from: Time,
    begun: u64,
    load: Option<Loading>,
    loads: PageLoads,
    stopped: bool,
}

/// A load under way.
#[derive(Debug)]
struct Loading {
    begun: Time,
    load: Load,
    /// The connections by the load's own numbers.
    connections: Vec<Option<u32>>,
    /// By the same numbers: whether a request waits for its response.
    waiting: Vec<bool>,
    /// Numbers of connections that the host is about to open.
    opening: VecDeque<u32>,
    /// A connection failed with its request.
    failed: bool,
}

impl Loading {
    /// Sends requests, on new connections where there is none yet.
    fn ask(&mut self, requests: impl IntoIterator<Item = Request>, orders: &mut Orders) {
        for request in requests {
            let exchange =
                Exchange { request: request.request_bytes, response: request.response_bytes };
            self.waiting[request.connection as usize] = true;
            match self.connections[request.connection as usize] {
                Some(connection) => orders.act(Action::Request { connection, exchange }),
                None => {
                    self.opening.push_back(request.connection);
                    orders.act(Action::Open(Carries::Exchanges(exchange)));
                }
            }
        }
    }

    fn number(&self, connection: u32) -> Option<u32> {
        let index = self.connections.iter().position(|known| *known == Some(connection))?;
        u32::try_from(index).ok()
    }
}

impl Pages {
    pub(super) fn new(spec: &model::Pages, steady_from: Time, rng: &mut Rng) -> Pages {
        Pages {
            spec: spec.clone(),
            rng: Rng::new(rng.bits()),
            steady_from,
            begun: 0,
            load: None,
            loads: PageLoads::default(),
            stopped: false,
        }
    }

    fn begin(&mut self, now: Time, orders: &mut Orders) {
        self.begun += 1;
        let page = self.spec.page.clone();
        let connections = vec![None; page.connections as usize];
        let waiting = vec![false; connections.len()];
        let (load, document) = Load::start(page, now, Rng::new(self.rng.bits()));
        let opening = VecDeque::new();
        let mut loading =
            Loading { begun: now, load, connections, waiting, opening, failed: false };
        loading.ask([document], orders);
        self.load = Some(loading);
    }

    /// A request of the load is done, with its response or with its connection.
    fn request_done(&mut self, now: Time, number: u32, orders: &mut Orders) {
        let Some(loading) = &mut self.load else { return };
        loading.waiting[number as usize] = false;
        let requests = loading.load.response_done(number, now);
        loading.ask(requests, orders);
        if let Some(took) = loading.load.load_time() {
            for connection in loading.connections.iter().flatten() {
                orders.act(Action::Close { connection: *connection });
            }
            if loading.begun >= self.steady_from {
                match loading.failed {
                    true => self.loads.failed += 1,
                    false => self.loads.times.record(took),
                }
            }
            self.load = None;
            self.go_on(now, orders);
        }
    }

    fn go_on(&mut self, now: Time, orders: &mut Orders) {
        let last = self.spec.count.is_some_and(|count| self.begun >= count);
        if last || self.stopped {
            orders.over = true;
        } else {
            orders.wake_at(now + draw(self.spec.think, self.spec.exponential, &mut self.rng));
        }
    }
}

impl Program for Pages {
    fn start(&mut self, now: Time, orders: &mut Orders) {
        self.begin(now, orders);
    }

    fn stop(&mut self, _: Time, orders: &mut Orders) {
        self.stopped = true;
        orders.over = self.load.is_none();
    }

    fn wake(&mut self, now: Time, orders: &mut Orders) {
        if !self.stopped {
            self.begin(now, orders);
        }
    }

    fn opened(&mut self, connection: u32) {
        if let Some(loading) = &mut self.load
            && let Some(number) = loading.opening.pop_front()
        {
            loading.connections[number as usize] = Some(connection);
        }
    }

    fn response_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        if let Some(number) = self.load.as_ref().and_then(|loading| loading.number(connection)) {
            self.request_done(now, number, orders);
        }
    }

    fn connection_done(&mut self, now: Time, connection: u32, orders: &mut Orders) {
        if let Some(loading) = &mut self.load
            && let Some(number) = loading.number(connection)
        {
            loading.connections[number as usize] = None;
            if loading.waiting[number as usize] {
                loading.failed = true;
                self.request_done(now, number, orders);
            }
        }
    }

    fn figures(&self, _: Time) -> Option<Figures> {
        Some(Figures::Pages(self.loads.clone()))
    }
}
