//! How long the sender was busy, and what limited it: the three clocks of `tcp_info`.

use windlass_base::{Span, Time};

/// The limit of a sender that has data.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Limit {
    /// It has no data.
    #[default]
    Idle,
    /// The congestion window or the path.
    Busy,
    /// The peer's window.
    PeerWindow,
    /// The send buffer: the program has more.
    SendBuffer,
}

/// The clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Chrono {
    limit: Limit,
    since: Time,
    busy: Span,
    peer_window: Span,
    send_buffer: Span,
}

/// Times in microseconds.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limited {
    pub(super) busy_us: u64,
    pub(super) peer_window_us: u64,
    pub(super) send_buffer_us: u64,
}

impl Chrono {
    /// From `now` on `limit` is what limits the sender.
    pub(super) fn note(&mut self, now: Time, limit: Limit) {
        if limit == self.limit {
            return;
        }
        self.count(now);
        self.limit = limit;
    }

    fn count(&mut self, now: Time) {
        let span = now.saturating_since(self.since);
        self.since = now;
        let sum = match self.limit {
            Limit::Idle => return,
            Limit::Busy => &mut self.busy,
            Limit::PeerWindow => &mut self.peer_window,
            Limit::SendBuffer => &mut self.send_buffer,
        };
        *sum = sum.saturating_add(span);
    }

    /// The times up to `now`. The first is all of the time with data, whatever limited the sender.
    pub(super) fn read(&self, now: Time) -> Limited {
        let mut counted = self.clone();
        counted.count(now);
        let us = |span: Span| span.as_nanos() / 1000;
        let (peer_window_us, send_buffer_us) = (us(counted.peer_window), us(counted.send_buffer));
        Limited {
            busy_us: us(counted.busy) + peer_window_us + send_buffer_us,
            peer_window_us,
            send_buffer_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_clock_runs_while_its_limit_holds_and_the_first_one_always() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut chrono = Chrono::default();
        chrono.note(at(5), Limit::Busy);
        chrono.note(at(10), Limit::PeerWindow);
        chrono.note(at(10), Limit::PeerWindow);
        assert_eq!(chrono.read(at(12)).peer_window_us, 2000);
        chrono.note(at(20), Limit::SendBuffer);
        chrono.note(at(21), Limit::Idle);
        let limited = Limited { busy_us: 16_000, peer_window_us: 10_000, send_buffer_us: 1000 };
        assert_eq!(chrono.read(at(50)), limited);
    }
}
