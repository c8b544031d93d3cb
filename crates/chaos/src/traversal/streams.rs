//! Streams to the rendezvous, as TLS over TCP gives them: messages arrive once and in order, later
//! if the network is dark or loses something. A NAT that reboots, and a host that moves, break them.

use super::setup::{HostNetwork, Setup};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use windlass_base::{Rng, Span, Time};

/// Delay that TCP adds to a message of which a segment was lost.
const RETRANSMISSION: Span = Span::from_millis(250);
/// The time until TCP gives up a connection attempt (the driver's limit).
const CONNECT_TIMEOUT: Span = Span::from_secs(5);
/// The time until a host notices that its stream is broken.
const BREAK_NOTICED: Span = Span::from_secs(20);

/// Identifies a stream. Both ends use the same number.
pub(super) type StreamId = u64;

/// A change of a stream, or a message that it delivers.
pub(super) enum StreamEvent {
    /// A host's attempt to open a stream succeeded.
    Opened { host: usize, id: StreamId },
    /// A host's attempt to open a stream failed.
    Refused { host: usize },
    /// A message reaches the host.
    ToHost { host: usize, id: StreamId, bytes: Vec<u8> },
    /// A message reaches the rendezvous.
    ToRendezvous { id: StreamId, from: SocketAddr, bytes: Vec<u8> },
    /// The host notices the end of a stream.
    ClosedAtHost { host: usize, id: StreamId },
    /// The rendezvous notices the end of a stream.
    ClosedAtRendezvous { id: StreamId },
}

struct Stream {
    host: usize,
    is_broken: bool,
    /// When the newest message arrives, to the host and to the rendezvous.
    newest: [Time; 2],
}

pub(super) struct Streams {
    delays: [Span; 2],
    loss: f64,
    may_open: [bool; 2],
    rng: Rng,
    open: BTreeMap<StreamId, Stream>,
    /// Attempts to open a stream.
    opening: [bool; 2],
    next_id: StreamId,
    events: BTreeMap<(Time, u64), StreamEvent>,
    queued: u64,
}

impl Streams {
    pub(super) fn new(setup: &Setup, seed: u64) -> Streams {
        let shared = setup.together.is_some();
        let passes = |host: usize| setup.networks[host] != HostNetwork::Isolated;
        Streams {
            delays: setup.delays,
            loss: setup.loss,
            may_open: [passes(0), passes(if shared { 0 } else { 1 })],
            rng: Rng::fork(seed, 3),
            open: BTreeMap::new(),
            opening: [false; 2],
            next_id: 0,
            events: BTreeMap::new(),
            queued: 0,
        }
    }

    fn queue(&mut self, at: Time, event: StreamEvent) {
        self.queued += 1;
        self.events.insert((at, self.queued), event);
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.events.keys().next().map(|(at, _)| *at)
    }

    /// Begins to open a stream, as the driver does: one attempt at a time.
    pub(super) fn open(&mut self, now: Time, dark_until: Time, host: usize) {
        if std::mem::replace(&mut self.opening[host], true) {
            return;
        }
        // One round trip for TCP, one for TLS.
        let at = now.max(dark_until) + self.delays[host] * 4;
        if !self.may_open[host] || at > now + CONNECT_TIMEOUT {
            return self.queue(now + CONNECT_TIMEOUT, StreamEvent::Refused { host });
        }
        let id = self.next_id;
        self.next_id += 1;
        self.queue(at, StreamEvent::Opened { host, id });
    }

    /// Sends a message to the host, or to the rendezvous from the host's address `from`.
    pub(super) fn send(
        &mut self,
        (now, dark_until): (Time, Time),
        id: StreamId,
        from: Option<SocketAddr>,
        bytes: Vec<u8>,
    ) {
        let Some(stream) = self.open.get_mut(&id).filter(|stream| !stream.is_broken) else {
            return;
        };
        let (host, direction) = (stream.host, usize::from(from.is_some()));
        let lost = if self.rng.chance(self.loss) { RETRANSMISSION } else { Span::ZERO };
        let at = now.max(dark_until) + self.delays[host] + lost;
        let at = at.max(stream.newest[direction]);
        stream.newest[direction] = at;
        let event = match from {
            Some(from) => StreamEvent::ToRendezvous { id, from, bytes },
            None => StreamEvent::ToHost { host, id, bytes },
        };
        self.queue(at, event);
    }

    /// The host closes a stream.
    pub(super) fn close_by_host(&mut self, now: Time, id: StreamId) {
        let Some(stream) = self.open.get_mut(&id).filter(|stream| !stream.is_broken) else {
            return;
        };
        stream.is_broken = true;
        let at = now + self.delays[stream.host];
        self.queue(at, StreamEvent::ClosedAtRendezvous { id });
    }

    /// Ends a stream at once at both ends: the rendezvous is gone.
    pub(super) fn reset_all(&mut self, now: Time) {
        let ids: Vec<_> = self.open.keys().copied().collect();
        for id in ids {
            self.close(now, id, Span::ZERO);
        }
    }

    /// Breaks the streams of a host: nothing arrives any more, and their ends notice it later.
    pub(super) fn break_streams(&mut self, now: Time, host: usize) {
        let broken: Vec<_> = self
            .open
            .iter()
            .filter(|(_, stream)| stream.host == host && !stream.is_broken)
            .map(|(id, _)| *id)
            .collect();
        for id in broken {
            self.close(now, id, BREAK_NOTICED);
        }
    }

    fn close(&mut self, now: Time, id: StreamId, noticed_after: Span) {
        let Some(stream) = self.open.get_mut(&id) else { return };
        stream.is_broken = true;
        let host = stream.host;
        self.queue(now + noticed_after + self.delays[host], StreamEvent::ClosedAtHost { host, id });
        self.queue(now + noticed_after, StreamEvent::ClosedAtRendezvous { id });
    }

    /// The next event that is due by `now`.
    pub(super) fn poll_event(&mut self, now: Time) -> Option<StreamEvent> {
        while let Some(entry) = self.events.first_entry().filter(|one| one.key().0 <= now) {
            let event = entry.remove();
            match &event {
                StreamEvent::Opened { host, id } => {
                    self.opening[*host] = false;
                    let stream = Stream { host: *host, is_broken: false, newest: [now; 2] };
                    self.open.insert(*id, stream);
                }
                StreamEvent::Refused { host } => self.opening[*host] = false,
                // Messages under way when the stream broke.
                StreamEvent::ToHost { id, .. } | StreamEvent::ToRendezvous { id, .. }
                    if self.open.get(id).is_none_or(|stream| stream.is_broken) =>
                {
                    continue;
                }
                _ => {}
            }
            return Some(event);
        }
        None
    }
}
