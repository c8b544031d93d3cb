//! One end of a connection, and its timer.

use crate::event::Event;
use crate::packet::Sink;
use crate::record::Context;
use windlass_base::{Span, Time};
use windlass_tcp::Connection;

/// One end of a connection.
#[derive(Debug)]
// In order of access, as the connection itself.
#[repr(C)]
pub(super) struct Endpoint {
    /// When the pending timer event is due that counts; [`Time::MAX`] without one.
    pub(super) armed: Time,
    /// Where its packets start.
    pub(super) first_hop: u32,
    pub(super) flow: u32,
    pub(super) connection: Connection,
}

impl Endpoint {
    /// Schedules an event for the endpoint's timer; true if none was pending. If the timer moves to a
    /// later time, the earlier event stays and does nothing.
    pub(super) fn arm<R>(&mut self, now: Time, sink: Sink, cx: &mut Context<'_, R>) -> bool {
        let Some(due) = self.connection.poll_timeout().filter(|due| *due < self.armed) else {
            return false;
        };
        // A timer that does not move must not stop the clock.
        let due = due.max(now + Span::from_nanos(1));
        if due >= self.armed {
            return false;
        }
        let first = self.armed == Time::MAX;
        self.armed = due;
        cx.events.schedule(due, Event::Timer { endpoint: sink.endpoint() });
        first
    }
}
