//! Web servers made of the engine.
#![allow(dead_code, reason = "the tests and the example use a part each")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use windlass_base::{Ecn, Span, Time};
use windlass_probe::wire::{self, Flow, Kind, Meta};
use windlass_tcp::cc::Reno;
use windlass_tcp::stream::Stream;
use windlass_tcp::{Config, Connection, Event, Flags, Profile, SeqNumber};

/// A host that takes packets and sends some.
pub(crate) trait Server {
    fn handle_packet(&mut self, now: Time, packet: &[u8]);
    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>>;
    fn poll_timeout(&self) -> Option<Time>;
    fn handle_timeout(&mut self, now: Time);
}

/// What a server says once it has had a request.
pub(crate) trait Speaker {
    /// Bytes came in; what goes out is appended. True: the answer is complete.
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool;
}

/// Answers the end of a head with these bytes, and closes.
pub(crate) struct Says {
    answer: Vec<u8>,
    heard: Vec<u8>,
}

impl Says {
    pub(crate) fn new(answer: Vec<u8>) -> Says {
        Says { answer, heard: Vec::new() }
    }
}

impl Speaker for Says {
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        self.heard.extend_from_slice(bytes);
        let done = self.heard.ends_with(b"\r\n\r\n");
        if done {
            self.heard.clear();
            out.extend_from_slice(&self.answer);
        }
        done
    }
}

pub(crate) fn says(answer: Vec<u8>) -> impl FnMut() -> Box<dyn Speaker> {
    move || Box::new(Says::new(answer.clone()))
}

/// 200, with so many bytes.
pub(crate) fn page(len: usize) -> Vec<u8> {
    let mut page = format!("HTTP/1.1 200 OK\r\nServer: engine\r\nContent-Length: {len}\r\n\r\n");
    page.push_str(&"x".repeat(len));
    page.into_bytes()
}

pub(crate) fn redirect(to: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    head.into_bytes()
}

/// Configs of servers: a profile, with an initial window of so many segments.
pub(crate) fn config(profile: Profile, initial_window: u32) -> Config {
    Config {
        initial_window,
        nagle: false,
        send_buffer: 1 << 20,
        receive_buffer: 64 << 10,
        ..profile.config(1460, Arc::new(Reno))
    }
}

/// A server of the engine's, with a connection for every client.
pub(crate) struct EngineServer<F> {
    config: Config,
    speaker: F,
    hosts: BTreeMap<Flow, Conversation>,
    out: VecDeque<Vec<u8>>,
    isn: u32,
}

struct Conversation {
    stream: Stream,
    speaker: Box<dyn Speaker>,
    backlog: Vec<u8>,
    done: bool,
}

impl<F: FnMut() -> Box<dyn Speaker>> EngineServer<F> {
    pub(crate) fn new(config: Config, speaker: F) -> EngineServer<F> {
        // Numbers that wrap within a connection.
        let isn = u32::MAX - 2000;
        EngineServer { config, speaker, hosts: BTreeMap::new(), out: VecDeque::new(), isn }
    }

    fn serve(&mut self, now: Time, flow: Flow) {
        let Some(host) = self.hosts.get_mut(&flow) else { return };
        host.speak(now);
        while let Some((run, payload)) = host.stream.poll_transmit(now, 1, &mut ()) {
            let mut packet = Vec::new();
            wire::emit(&flow, &run.first, &payload, 0, &mut packet);
            self.out.push_back(packet);
        }
        let over = host.stream.connection().state() == windlass_tcp::State::Closed;
        if over {
            self.hosts.remove(&flow);
        }
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
}

impl<F: FnMut() -> Box<dyn Speaker>> Server for EngineServer<F> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        let Some(incoming) = wire::parse(packet, Meta::default()) else { return };
        let Kind::Segment(received) = incoming.kind else { return };
        let flow = incoming.flow;
        if received.segment.flags.contains(Flags::SYN) && !self.hosts.contains_key(&flow) {
            self.isn = self.isn.wrapping_add(64_007);
            let connection = Connection::listen(self.config.clone(), SeqNumber(self.isn));
            let conversation = Conversation {
                stream: Stream::new(connection),
                speaker: (self.speaker)(),
                backlog: Vec::new(),
                done: false,
            };
            self.hosts.insert(flow, conversation);
        }
        if let Some(host) = self.hosts.get_mut(&flow) {
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

/// A host that does with each segment what `react` says: a hostile one.
pub(crate) struct Raw<F> {
    react: F,
    out: VecDeque<(Time, Vec<u8>)>,
}

impl<F: FnMut(&Flow, &wire::Received<'_>) -> Vec<(Span, Vec<u8>)>> Raw<F> {
    pub(crate) fn new(react: F) -> Raw<F> {
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
