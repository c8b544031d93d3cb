//! A web server made of the engine. Its cost follows the bytes and the connections that are active: each
//! connection reads its answer from the shared page, timers are called in their order, and of a
//! connection in TIME-WAIT little is left.

mod conversation;
#[cfg(test)]
mod tests;
mod time_wait;
mod timers;

use crate::ended::{Accounts, Ended};
use crate::page::Speaker;
use crate::server::Server;
use conversation::{Conversation, packet};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use time_wait::{Reaction, TimeWaits};
use timers::Timers;
use windlass_base::{Ecn, Time};
use windlass_probe::wire::{self, Flow, Kind, Meta, Received};
use windlass_tcp::{Config, SeqNumber, State};

/// Connections at most, those in TIME-WAIT not counted. The server ignores further SYNs.
const CONNECTIONS_MAX: usize = 4096;

/// A web server of the engine's, with a connection for every client.
///
/// Clients cannot make it hold much: it has at most 4,096 connections beside those in TIME-WAIT, a
/// request has at most 64 KiB and a minute, and a client gets another minute to close its half after the
/// answer.
pub struct EngineServer<F> {
    config: Config,
    speaker: F,
    hosts: BTreeMap<Flow, Box<Conversation>>,
    timers: Timers,
    time_waits: TimeWaits,
    out: VecDeque<Vec<u8>>,
    ended: Accounts,
    /// The payload of the packet that is being made.
    payload: Vec<u8>,
    isn: u32,
    /// The most packets in flight, if [`EngineServer::taking_acks_for_sizes`] is set.
    takes_acks_for_sizes: Option<usize>,
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
            time_waits: TimeWaits::new(config.timers.time_wait),
            config,
            speaker,
            hosts: BTreeMap::new(),
            timers: Timers::default(),
            out: VecDeque::new(),
            ended: Accounts::default(),
            payload: Vec::new(),
            // Numbers that wrap within a connection.
            isn: u32::MAX - 2000,
            takes_acks_for_sizes: None,
        }
    }

    /// Makes the server treat the bytes of an ACK as a packet size. If an ACK ends inside a segment, the
    /// server retransmits the rest of that segment and sends no longer packets from then on. It has at
    /// most `packets_max` packets in flight, however short they are.
    pub(crate) fn taking_acks_for_sizes(mut self, packets_max: usize) -> EngineServer<F> {
        self.takes_acks_for_sizes = Some(packets_max);
        self
    }

    /// Sends the packets that an ACK or a timer permits.
    fn serve(&mut self, now: Time, flow: &Flow, by_timer: bool) {
        let Some(host) = self.hosts.get_mut(flow) else { return };
        host.speak(now);
        let keep = self.takes_acks_for_sizes.is_some();
        // A retransmission by timeout is not limited: its packet is in flight already.
        let places = self.takes_acks_for_sizes.filter(|_| !by_timer).unwrap_or(usize::MAX);
        while host.sent.len() < places
            && let Some(packet) = host.poll_packet(now, flow, &mut self.payload, keep)
        {
            self.out.push_back(packet);
        }
        let next = match host.state() {
            State::Closed | State::TimeWait => None,
            _ => host.poll_timeout(),
        };
        self.timers.set(flow, &mut host.timer, next);
        match host.state() {
            State::Closed => {}
            State::TimeWait => self.time_waits.begin(now, *flow, host.final_ack()),
            _ => return,
        }
        self.ended.push(host.ended(flow));
        self.hosts.remove(flow);
    }

    /// Begins the connection of a SYN, unless there are too many. Its initial sequence number is `isn`, or
    /// the next one.
    fn accept(&mut self, now: Time, flow: Flow, received: &Received<'_>, isn: Option<SeqNumber>) {
        if self.hosts.len() >= CONNECTIONS_MAX {
            return;
        }
        self.isn = self.isn.wrapping_add(64_007);
        let isn = isn.unwrap_or(SeqNumber(self.isn));
        let (config, speaker) = (self.config.clone(), (self.speaker)());
        let host = Conversation::new(now, config, isn, &received.segment, speaker);
        self.hosts.insert(flow, Box::new(host));
        self.converse(now, &flow, received);
    }

    /// Handles a segment of a connection.
    fn converse(&mut self, now: Time, flow: &Flow, received: &Received<'_>) {
        let Some(host) = self.hosts.get_mut(flow) else { return };
        let rest = host.rest(flow, received.segment.ack, &mut self.payload);
        let acknowledged = host.handle_segment(now, received);
        if let Some(packet) = rest {
            self.out.push_back(packet);
            host.set_mss(acknowledged as u32);
        }
        self.serve(now, flow, false);
    }

    /// Handles a segment for which there is no connection, or one in TIME-WAIT.
    fn answer_stranger(&mut self, now: Time, flow: Flow, received: &Received<'_>) {
        let segment = &received.segment;
        let answer = match self.time_waits.handle(now, &flow, segment) {
            Some(Reaction::Reopen(isn)) => {
                return self.accept(now, flow, received, Some(isn));
            }
            None if segment.opens() => return self.accept(now, flow, received, None),
            Some(Reaction::Answer(ack)) => Some(ack),
            Some(Reaction::Silence) => None,
            None => segment.reset_reply(),
        };
        self.out.extend(answer.map(|segment| packet(&flow, &segment, Ecn::NotEct, &[])));
    }
}

impl<F: FnMut() -> Box<dyn Speaker>> Server for EngineServer<F> {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        let Some(incoming) = wire::parse(packet, Meta::default()) else { return };
        let Kind::Segment(received) = incoming.kind else { return };
        let flow = incoming.flow;
        if self.hosts.contains_key(&flow) {
            self.converse(now, &flow, &received);
        } else {
            self.answer_stranger(now, flow, &received);
        }
    }

    fn poll_packet(&mut self, _: Time) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    fn poll_ended(&mut self) -> Option<Ended> {
        self.ended.pop()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.timers.next().into_iter().chain(self.time_waits.poll_timeout()).min()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.time_waits.handle_timeout(now);
        let due: Vec<Flow> = std::iter::from_fn(|| self.timers.pop(now)).collect();
        for flow in due {
            if let Some(host) = self.hosts.get_mut(&flow) {
                host.timer = None;
                host.handle_timeout(now);
                self.serve(now, &flow, true);
            }
        }
    }
}
