//! Requests one at a time: on the connection that is there, or on a new one.

use super::{Action, Carries, Exchange, Orders};
use windlass_base::Time;

/// The present request of a program, and its connection.
#[derive(Debug, Default)]
pub(super) struct Asking {
    /// The next request, until its time comes.
    next: Option<Exchange>,
    /// A request that waits for its response.
    waiting: Option<Exchange>,
    connection: Option<u32>,
    stopped: bool,
}

impl Asking {
    /// Asks at this time.
    pub(super) fn plan(&mut self, at: Time, exchange: Exchange, orders: &mut Orders) {
        self.next = Some(exchange);
        orders.wake_at(at);
    }

    /// The time of the next request has come.
    pub(super) fn wake(&mut self, orders: &mut Orders) {
        let Some(exchange) = self.next.take().filter(|_| !self.stopped) else { return };
        self.waiting = Some(exchange);
        orders.act(match self.connection {
            Some(connection) => Action::Request { connection, exchange },
            None => Action::Open(Carries::Exchanges(exchange)),
        });
    }

    pub(super) fn opened(&mut self, connection: u32) {
        self.connection = Some(connection);
    }

    /// The response has arrived.
    pub(super) fn answered(&mut self) {
        self.waiting = None;
    }

    /// A connection is over. Returns the request that is lost with it.
    pub(super) fn lose(&mut self, connection: u32) -> Option<Exchange> {
        self.connection.take_if(|own| *own == connection)?;
        self.waiting.take()
    }

    /// No further request; one that waits still gets its response.
    pub(super) fn stop(&mut self, orders: &mut Orders) {
        self.stopped = true;
        if self.waiting.is_none() {
            self.finish(orders);
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn close(&mut self, orders: &mut Orders) {
        if let Some(connection) = self.connection.take() {
            orders.act(Action::Close { connection });
        }
    }

    /// The application is over.
    pub(super) fn finish(&mut self, orders: &mut Orders) {
        self.close(orders);
        orders.over = true;
    }
}
