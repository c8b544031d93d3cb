//! Connections that the server has closed, until no packet of them can be under way (RFC 9293 section 3.6).

use super::timers::Timers;
use std::collections::BTreeMap;
use windlass_base::{Span, Time};
use windlass_probe::wire::Flow;
use windlass_tcp::{Flags, Segment, SeqNumber};

/// Connections in TIME-WAIT at most. Beyond them the oldest ends early, as in Linux with
/// `tcp_max_tw_buckets`.
const WAITING_MAX: usize = 1 << 16;
/// The distance between the sequence numbers of two connections of the same ends.
const ISN_STEP: u64 = 64_007;

/// The connections in TIME-WAIT: of each only its last ACK, with which it answers (RFC 9293 §3.10.7.4).
#[derive(Debug)]
pub(super) struct TimeWaits {
    lasts: Span,
    waiting: BTreeMap<Flow, Waiting>,
    pub(super) timers: Timers,
}

#[derive(Debug)]
struct Waiting {
    ack: Segment,
    until: Option<Time>,
}

/// The response to a segment for a connection in TIME-WAIT.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Answer(Segment),
    Silence,
    /// A new connection that begins with this sequence number.
    Reopen(SeqNumber),
}

impl TimeWaits {
    /// No connection yet; each TIME-WAIT will last this long.
    pub(super) fn new(lasts: Span) -> TimeWaits {
        TimeWaits { lasts, waiting: BTreeMap::new(), timers: Timers::default() }
    }

    /// Begins the TIME-WAIT of a connection whose last ACK is `ack`.
    pub(super) fn begin(&mut self, now: Time, flow: Flow, ack: Segment) {
        if self.waiting.len() >= WAITING_MAX
            && let Some(oldest) = self.timers.pop(Time::MAX)
        {
            self.waiting.remove(&oldest);
        }
        let mut waiting = Waiting { ack, until: None };
        self.timers.set(&flow, &mut waiting.until, Some(now + self.lasts));
        self.waiting.insert(flow, waiting);
    }

    /// Handles a segment; `None` if the connection is not in TIME-WAIT.
    pub(super) fn handle(&mut self, now: Time, flow: &Flow, segment: &Segment) -> Option<Reaction> {
        let waiting = self.waiting.get_mut(flow)?;
        let as_expected = segment.seq == waiting.ack.ack;
        if segment.flags.contains(Flags::RST) {
            // Elsewhere in the window it may be forged (RFC 5961 §3.2).
            if as_expected {
                self.remove(flow);
            }
            return Some(Reaction::Silence);
        }
        let newest = waiting.ack.options.timestamps.map(|timestamps| timestamps.echo_reply);
        if segment.reopens(waiting.ack.ack, newest) {
            let isn = waiting.ack.seq.at(ISN_STEP);
            self.remove(flow);
            return Some(Reaction::Reopen(isn));
        }
        if segment.flags.contains(Flags::FIN) {
            let until = now + self.lasts;
            self.timers.set(flow, &mut waiting.until, Some(until));
        }
        let acceptable = as_expected && segment.sequence_len() == 0;
        Some(if acceptable { Reaction::Silence } else { Reaction::Answer(waiting.ack) })
    }

    /// The end of the next TIME-WAIT.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Forgets the connections whose TIME-WAIT is over.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        while let Some(flow) = self.timers.pop(now) {
            self.waiting.remove(&flow);
        }
    }

    fn remove(&mut self, flow: &Flow) {
        if let Some(mut waiting) = self.waiting.remove(flow) {
            self.timers.set(flow, &mut waiting.until, None);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
