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
    resends_rests: bool,
}

struct Conversation {
    stream: Stream,
    speaker: Box<dyn Speaker>,
    backlog: Vec<u8>,
    done: bool,
    /// What is not acknowledged, if the rest of a segment is to be sent again.
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
            resends_rests: false,
        }
    }

    /// It takes an ACK that ends inside a segment for the sign that the rest of it is lost, and sends
    /// that again.
    pub fn resending_rests(mut self) -> EngineServer<F> {
        self.resends_rests = true;
        self
    }

    fn serve(&mut self, now: Time, flow: Flow) {
        let Some(host) = self.hosts.get_mut(&flow) else { return };
        host.speak(now);
        while let Some((run, payload)) = host.stream.poll_transmit(now, 1, &mut ()) {
            if self.resends_rests && run.first.payload_len > 0 {
                host.sent.push_back((run.first, payload.concat()));
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

impl<F: FnMut() -> Box<dyn Speaker>> Server for EngineServer<F> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        let Some(incoming) = wire::parse(packet, Meta::default()) else { return };
        let Kind::Segment(received) = incoming.kind else { return };
        let flow = incoming.flow;
        if received.segment.flags.contains(Flags::SYN) && !self.hosts.contains_key(&flow) {
            self.accept(flow);
        }
        if let Some(host) = self.hosts.get_mut(&flow) {
            if let Some((segment, bytes)) = host.rest(&received) {
                let mut packet = Vec::new();
                wire::emit(&flow, &segment, &[&bytes], 0, &mut packet);
                self.out.push_back(packet);
            }
            let (segment, payload) = (&received.segment, received.payload);
            host.stream.handle_segment(now, segment, payload, Ecn::NotEct, &mut ());
            self.serve(now, flow);
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
                self.serve(now, flow);
            }
        }
    }
}
