//! A path that marks a packet of the server, as a congested router does.

use super::accurate::translated;
use std::cell::Cell;
use std::rc::Rc;
use windlass_base::{Ecn, Time};
use windlass_probe::wire::{self, Kind, Meta};
use windlass_probe_serve::Server;
use windlass_tcp::Flags;

/// Packets that passed the router, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Packets of the server with data that a router may mark.
    pub(crate) capable: Cell<u32>,
    /// Packets of the client with ECE after the mark, the handshake left out.
    pub(crate) echoes: Cell<u32>,
    /// Packets of the server with CWR.
    pub(crate) reduced: Cell<u32>,
}

/// A server behind a router that marks the packet with data of this number, from 1, of those it may mark.
pub(crate) struct Marked<S> {
    inner: S,
    number: u32,
    seen: Rc<Seen>,
}

impl<S: Server> Marked<S> {
    pub(crate) fn new(inner: S, number: u32) -> (Marked<S>, Rc<Seen>) {
        let seen = Rc::<Seen>::default();
        (Marked { inner, number, seen: Rc::clone(&seen) }, seen)
    }
}

fn count(counter: &Cell<u32>, happened: bool) {
    counter.set(counter.get() + u32::from(happened));
}

impl<S: Server> Server for Marked<S> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        if let Some(Kind::Segment(received)) =
            wire::parse(packet, Meta::default()).map(|incoming| incoming.kind)
        {
            let flags = received.segment.flags;
            let (syn, ece) = (flags.contains(Flags::SYN), flags.contains(Flags::ECE));
            count(&self.seen.echoes, !syn && ece && self.seen.capable.get() >= self.number);
        }
        self.inner.handle_packet(now, packet);
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        let packet = self.inner.poll_packet(now)?;
        Some(translated(&packet, |segment, ecn| {
            let capable = *ecn == Ecn::Ect0 && segment.payload_len > 0;
            count(&self.seen.capable, capable);
            count(&self.seen.reduced, segment.flags.contains(Flags::CWR));
            if capable && self.seen.capable.get() == self.number {
                *ecn = Ecn::Ce;
            }
        }))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.inner.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
}
