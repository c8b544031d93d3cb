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

#[derive(Copy, Clone, PartialEq, Eq)]
enum Life {
    Open,
    /// Messages that the host sent before still arrive; nothing reaches the host.
    ClosedByHost,
    /// Nothing arrives.
    Broken,
}

struct Stream {
    host: usize,
    life: Life,
    /// When the newest message arrives, to the host and to the rendezvous.
    newest: [Time; 2],
}

impl Stream {
    fn is_open(&self) -> bool {
        self.life == Life::Open
    }
}

/// The index of [`Stream::newest`].
const TO_RENDEZVOUS: usize = 1;

/// The streams of both hosts, and what is under way in them. `dark_until` is the end of a blackout, in
/// which segments are lost and sent again.
pub(super) struct Streams {
    delays: [Span; 2],
    loss: f64,
    /// Whether the network of each host lets a stream out.
    may_open: [bool; 2],
    rng: Rng,
    /// Ended streams included: messages under way may name them.
    streams: BTreeMap<StreamId, Stream>,
    /// Attempts to open a stream.
    opening: [bool; 2],
    next_id: StreamId,
    events: BTreeMap<(Time, u64), StreamEvent>,
    queued: u64,
}

impl Streams {
    pub(super) fn new(setup: &Setup, seed: u64) -> Streams {
        // Both hosts may be in the first network.
        let network_of_second = usize::from(setup.together.is_none());
        let passes = |host: usize| setup.networks[host] != HostNetwork::Isolated;
        Streams {
            delays: setup.delays,
            loss: setup.loss,
            may_open: [passes(0), passes(network_of_second)],
            rng: Rng::fork(seed, 3),
            streams: BTreeMap::new(),
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
        let Some(stream) = self.streams.get_mut(&id).filter(|one| one.is_open()) else { return };
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

    /// The host closes a stream. The rendezvous gets what the host has sent, then the end.
    pub(super) fn close_by_host(&mut self, now: Time, dark_until: Time, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id).filter(|one| one.is_open()) else { return };
        stream.life = Life::ClosedByHost;
        let (host, newest) = (stream.host, stream.newest[TO_RENDEZVOUS]);
        let at = (now.max(dark_until) + self.delays[host]).max(newest);
        self.queue(at, StreamEvent::ClosedAtRendezvous { id });
    }

    /// Ends every stream, since the rendezvous is gone: resets reach the hosts one way later. An attempt
    /// under way reaches the new rendezvous.
    pub(super) fn reset_all(&mut self, now: Time) {
        let ids: Vec<_> = self.streams.keys().copied().collect();
        for id in ids {
            self.break_stream(now, id, Span::ZERO);
        }
    }

    /// Breaks the streams of a host: nothing arrives any more, and their ends notice it later.
    pub(super) fn break_streams(&mut self, now: Time, host: usize) {
        let own = self.streams.iter().filter(|(_, stream)| stream.host == host);
        let ids: Vec<_> = own.map(|(id, _)| *id).collect();
        for id in ids {
            self.break_stream(now, id, BREAK_NOTICED);
        }
    }

    fn break_stream(&mut self, now: Time, id: StreamId, noticed_after: Span) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let host = stream.host;
        if std::mem::replace(&mut stream.life, Life::Broken) != Life::Open {
            // Its end is under way already.
            return;
        }
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
                    let stream = Stream { host: *host, life: Life::Open, newest: [now; 2] };
                    self.streams.insert(*id, stream);
                }
                StreamEvent::Refused { host } => self.opening[*host] = false,
                // Messages under way when the stream ended.
                StreamEvent::ToHost { id, .. } if self.life(*id) != Life::Open => continue,
                StreamEvent::ToRendezvous { id, .. } if self.life(*id) == Life::Broken => continue,
                _ => {}
            }
            return Some(event);
        }
        None
    }

    fn life(&self, id: StreamId) -> Life {
        self.streams.get(&id).map_or(Life::Broken, |stream| stream.life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Span = Span::from_millis(10);

    /// A stream of host 0, and the time at which it is open.
    fn opened() -> (Streams, StreamId, Time) {
        let setup = Setup::quiet([HostNetwork::Public; 2], [DELAY; 2]);
        let mut streams = Streams::new(&setup, 1);
        streams.open(Time::ZERO, Time::ZERO, 0);
        let at = streams.next().expect("an attempt");
        match streams.poll_event(at) {
            Some(StreamEvent::Opened { id, .. }) => (streams, id, at),
            _ => panic!("not opened"),
        }
    }

    #[test]
    fn a_message_sent_before_the_close_arrives_before_the_end() {
        let (mut streams, id, now) = opened();
        let dark_until = now + Span::from_secs(1);
        let from = Some(SocketAddr::from(([198, 51, 100, 1], 1)));
        streams.send((now, dark_until), id, from, vec![1]);
        streams.close_by_host(now, now, id);
        let first = streams.poll_event(Time::MAX);
        assert!(matches!(first, Some(StreamEvent::ToRendezvous { .. })));
        let second = streams.poll_event(Time::MAX);
        assert!(matches!(second, Some(StreamEvent::ClosedAtRendezvous { .. })));
        assert!(streams.poll_event(Time::MAX).is_none());
    }

    #[test]
    fn a_stream_that_breaks_before_the_rendezvous_restarts_ends_once_at_each_end() {
        let (mut streams, _, now) = opened();
        streams.break_streams(now, 0);
        streams.reset_all(now + DELAY);
        let mut ends = [0; 2];
        while let Some(event) = streams.poll_event(Time::MAX) {
            match event {
                StreamEvent::ClosedAtHost { .. } => ends[0] += 1,
                StreamEvent::ClosedAtRendezvous { .. } => ends[1] += 1,
                _ => panic!("an event of no end"),
            }
        }
        assert_eq!(ends, [1, 1]);
    }
}
