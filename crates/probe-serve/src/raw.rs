//! Hosts that a test scripts packet by packet, such as hostile ones.

use crate::server::Server;
use std::collections::VecDeque;
use std::fmt;
use windlass_base::{Span, Time};
use windlass_probe::wire::{self, Flow, Kind, Meta};

/// A host whose reaction to each segment is a function: packets, each with a delay.
pub struct Raw<F> {
    react: F,
    out: VecDeque<(Time, Vec<u8>)>,
}

impl<F> fmt::Debug for Raw<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").field("out", &self.out).finish_non_exhaustive()
    }
}

impl<F: FnMut(&Flow, &wire::Received<'_>) -> Vec<(Span, Vec<u8>)>> Raw<F> {
    /// A host with this reaction.
    pub fn new(react: F) -> Raw<F> {
        Raw { react, out: VecDeque::new() }
    }
}

impl<F: FnMut(&Flow, &wire::Received<'_>) -> Vec<(Span, Vec<u8>)>> Server for Raw<F> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        let Some(incoming) = wire::parse(packet, Meta::default()) else { return };
        let Kind::Segment(received) = incoming.kind else { return };
        let replies = (self.react)(&incoming.flow, &received);
        self.out.extend(replies.into_iter().map(|(after, packet)| (now + after, packet)));
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        let due = self.out.iter().position(|(at, _)| *at <= now)?;
        self.out.remove(due).map(|(_, packet)| packet)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.out.iter().map(|(at, _)| *at).min()
    }

    fn handle_timeout(&mut self, _: Time) {}
}
