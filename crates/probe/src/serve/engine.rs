use super::{Server, Speaker};
use crate::wire::{self, Flow, Kind, Meta, Received};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use windlass_base::{Ecn, Time};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Config, Connection, Event, Flags, Segment, SeqNumber, State};

/// A web server of the engine's, with a connection for every client.
pub struct EngineServer<F> {
    config: Config,
    speaker: F,
    hosts: BTreeMap<Flow, Conversation>,
    out: VecDeque<Vec<u8>>,
    isn: u32,
    /// The most packets in flight, if [`EngineServer::taking_acks_for_sizes`] is set.
    takes_acks_for_sizes: Option<usize>,
}

struct Conversation {
    stream: Stream,
    speaker: Box<dyn Speaker>,
    backlog: Vec<u8>,
    done: bool,
    /// Unacknowledged segments; kept only if the server retransmits the rest of a segment.
    sent: VecDeque<(Segment, Vec<u8>)>,
}

impl<F> fmt::Debug for EngineServer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<&Flow> = self.hosts.keys().collect();
        f.debug_struct("EngineServer").field("hosts", &hosts).finish_non_exhaustive()
    }
}

impl<F: FnMut() -> Box<dyn Speaker>> EngineServer<F> {
    /// A server with these options, and a speaker for each connection.
    pub fn new(config: Config, speaker: F) -> EngineServer<F> {
        EngineServer {
            config,
            speaker,
            hosts: BTreeMap::new(),
            out: VecDeque::new(),
            // Numbers that wrap within a connection.
            isn: u32::MAX - 2000,
            takes_acks_for_sizes: None,
        }
    }

    /// Makes the server treat the bytes of an ACK as a packet size. If an ACK ends inside a segment, the
    /// server retransmits the rest of that segment and sends no longer packets from then on. It has at
    /// most `packets_max` packets in flight, however short they are.
    pub fn taking_acks_for_sizes(mut self, packets_max: usize) -> EngineServer<F> {
        self.takes_acks_for_sizes = Some(packets_max);
        self
    }

    /// Sends the packets that an ACK or a timer permits.
    fn serve(&mut self, now: Time, flow: Flow, by_timer: bool) {
        let Some(host) = self.hosts.get_mut(&flow) else { return };
        host.speak(now);
        // A retransmission by timeout is not limited: its packet is in flight already.
        let places = self.takes_acks_for_sizes.filter(|_| !by_timer).unwrap_or(usize::MAX);
        while host.sent.len() < places
            && let Some((run, payload)) = host.stream.poll_transmit(now, 1, &mut ())
        {
            if self.takes_acks_for_sizes.is_some() {
                keep(&mut host.sent, &run.first, &payload);
            }
            let mut packet = Vec::new();
            wire::emit(&flow, &run.first, &payload, 0, &mut packet);
            self.out.push_back(packet);
        }
        let over = host.stream.connection().state() == State::Closed;
        if over {
            self.hosts.remove(&flow);
        }
    }

    fn accept(&mut self, flow: Flow) {
        self.isn = self.isn.wrapping_add(64_007);
        let connection = Connection::listen(self.config.clone(), SeqNumber(self.isn));
        let conversation = Conversation {
            stream: Stream::new(connection),
            speaker: (self.speaker)(),
            backlog: Vec::new(),
            done: false,
            sent: VecDeque::new(),
        };
        self.hosts.insert(flow, conversation);
    }
}

impl Conversation {
    fn speak(&mut self, now: Time) {
        let mut chunk = [0; 4096];
        while let Ok(len @ 1..) = self.stream.read(&mut chunk) {
            self.done |= self.speaker.hear(&chunk[..len], &mut self.backlog);
        }
        while let Some(event) = self.stream.connection_mut().poll_event() {
            if event == Event::PeerClosed {
                self.done = true;
            }
        }
        if let Ok(taken) = self.stream.write(&self.backlog) {
            self.backlog.drain(..taken);
        }
        if self.done && self.backlog.is_empty() {
            self.stream.connection_mut().close(now);
        }
    }

    /// The rest of the segment that the ACK ends in.
    fn rest(&mut self, received: &Received<'_>) -> Option<(Segment, Vec<u8>)> {
        let ack = received.segment.ack;
        let acknowledged = |(segment, bytes): &(Segment, Vec<u8>)| {
            ack.distance_from(segment.seq) >= bytes.len() as i32
        };
        while self.sent.front().is_some_and(acknowledged) {
            self.sent.pop_front();
        }
        let (segment, bytes) = self.sent.front()?;
        let within =
            usize::try_from(ack.distance_from(segment.seq)).ok().filter(|within| *within > 0)?;
        let rest = bytes.get(within..)?.to_vec();
        Some((Segment { seq: ack, payload_len: rest.len() as u32, ..*segment }, rest))
    }
}

/// Keeps the new part of a sent segment.
fn keep(sent: &mut VecDeque<(Segment, Vec<u8>)>, segment: &Segment, payload: &[&[u8]]) {
    let is_new = |(last, bytes): &(Segment, Vec<u8>)| {
        segment.seq.distance_from(last.seq) >= bytes.len() as i32
    };
    if segment.payload_len > 0 && sent.back().is_none_or(is_new) {
        sent.push_back((*segment, payload.concat()));
    }
}

impl<F: FnMut() -> Box<dyn Speaker>> Server for EngineServer<F> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        let Some(incoming) = wire::parse(packet, Meta::default()) else { return };
        let Kind::Segment(received) = incoming.kind else { return };
        let flow = incoming.flow;
        if received.segment.flags.contains(Flags::SYN) && !self.hosts.contains_key(&flow) {
            self.accept(flow);
        }
        if let Some(host) = self.hosts.get_mut(&flow) {
            let rest = host.rest(&received);
            let before = host.stream.connection().bytes_acked();
            let (segment, payload) = (&received.segment, received.payload);
            host.stream.handle_segment(now, segment, payload, Ecn::NotEct, &mut ());
            if let Some((segment, bytes)) = rest {
                let mut packet = Vec::new();
                wire::emit(&flow, &segment, &[&bytes], 0, &mut packet);
                self.out.push_back(packet);
                let acknowledged = host.stream.connection().bytes_acked().saturating_sub(before);
                host.stream.connection_mut().set_mss(acknowledged as u32);
            }
            self.serve(now, flow, false);
        } else if let Some(reset) = received.segment.reset_reply() {
            let mut packet = Vec::new();
            wire::emit(&flow, &reset, &[], 0, &mut packet);
            self.out.push_back(packet);
        }
    }

    fn poll_packet(&mut self, _: Time) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.hosts.values().filter_map(|host| host.stream.connection().poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        let flows: Vec<Flow> = self.hosts.keys().copied().collect();
        for flow in flows {
            let Some(host) = self.hosts.get_mut(&flow) else { continue };
            if host.stream.connection().poll_timeout().is_some_and(|at| at <= now) {
                host.stream.connection_mut().handle_timeout(now, &mut ());
                self.serve(now, flow, true);
            }
        }
    }
}
