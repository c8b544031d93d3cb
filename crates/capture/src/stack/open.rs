//! Connections from their SYN to their end.

use super::flow::{Flow, Phase, Role};
use super::names;
use super::tcp_names::TcpNames;
use super::{Event, FlowId, Refusal, Stack};
use crate::packet::Ends;
use windlass_base::{Ecn, Time};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Connection, Event as TcpEvent, Flags, Segment, SeqNumber, State};

/// Bytes of a SYN's packet that are kept for an ICMP error: IP and TCP header.
const SYN_PACKET_KEPT: usize = 120;

/// Commands that decide on a connection.
impl Stack {
    /// Accepts a connection: its SYN is answered.
    pub fn accept(&mut self, now: Time, id: FlowId) {
        let Some((index, flow)) = self.table.get(id) else { return };
        let Phase::Opening { syn, .. } = flow.phase else { return };
        let v4 = flow.ends.far.is_ipv4();
        self.open(now, index, v4, &syn);
    }

    /// Refuses a connection.
    pub fn refuse(&mut self, id: FlowId, refusal: Refusal) {
        let Some((index, flow)) = self.table.get(id) else { return };
        let Phase::Opening { syn, packet, .. } = &mut flow.phase else { return };
        let (ends, syn, packet) = (flow.ends, *syn, std::mem::take(packet));
        match refusal.unreachable() {
            None => self.reply_reset(&ends, &syn),
            Some(why) => self.reply_unreachable(ends.app.ip(), why, &packet),
        }
        self.table.remove(index);
    }

    /// Ends the stream to the command after the bytes written so far.
    pub fn close(&mut self, now: Time, id: FlowId) {
        let Some((index, flow)) = self.table.get(id) else { return };
        if let Some(stream) = flow.stream() {
            stream.connection_mut().close(now);
            self.enqueue(index);
        }
    }

    /// Gives the connection up to the stack, which forgets it once it has ended. Until then its
    /// bytes and the end of its stream stay readable. Call it when both directions are closed.
    pub fn release(&mut self, id: FlowId) {
        let Some((index, flow)) = self.table.get(id) else { return };
        flow.released = true;
        self.enqueue(index);
    }

    /// Resets a connection, discards what the command has not received, and releases it.
    pub fn abort(&mut self, id: FlowId) {
        let Some((index, flow)) = self.table.get(id) else { return };
        flow.released = true;
        match flow.stream() {
            Some(stream) => {
                stream.connection_mut().abort();
                while stream.connection_mut().poll_event().is_some() {}
                self.enqueue(index);
            }
            None => self.refuse(id, Refusal::Refused),
        }
    }
}

/// The bytes of a connection.
impl Stack {
    /// The bytes that the command has sent and [`Stack::consume`] has not taken, in two pieces.
    pub fn peek(&self, id: FlowId) -> [&[u8]; 2] {
        self.table.stream(id).map_or([&[], &[]], Stream::peek)
    }

    /// Takes the first `len` bytes of [`Stack::peek`].
    pub fn consume(&mut self, id: FlowId, len: usize) {
        let Some((index, flow)) = self.table.get(id) else { return };
        if let Some(stream) = flow.stream() {
            // The end of the stream has its own getter.
            let _ = stream.consume(len);
            self.enqueue(index);
        }
    }

    /// Whether the command has closed its sending direction, and all its bytes are consumed.
    pub(crate) fn is_read_to_the_end(&self, id: FlowId) -> bool {
        self.table.stream(id).is_some_and(|stream| {
            let connection = stream.connection();
            connection.peer_closed() && connection.readable() == 0
        })
    }

    /// Whether the connection is accepted and has not ended.
    pub fn is_open(&self, id: FlowId) -> bool {
        self.table.stream(id).is_some_and(|stream| stream.connection().state() != State::Closed)
    }

    /// Bytes that [`Stack::write`] would take now.
    pub fn writable(&self, id: FlowId) -> usize {
        let room = self.table.stream(id).map_or(0, |stream| stream.connection().writable());
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Appends bytes to the stream to the command, as many as fit; returns how many.
    pub fn write(&mut self, id: FlowId, bytes: &[u8]) -> usize {
        let short = self.is_short_of_memory();
        let Some((index, flow)) = self.table.get(id) else { return 0 };
        flow.hold(short);
        let taken = flow.stream().and_then(|stream| stream.write(bytes).ok()).unwrap_or(0);
        self.table.update(index);
        self.enqueue(index);
        taken
    }
}

/// Segments and timers.
impl Stack {
    /// Handles a segment of no known connection.
    pub(super) fn handle_first_segment(
        &mut self,
        now: Time,
        ends: Ends,
        segment: &Segment,
        packet: &[u8],
    ) {
        let opens = is_syn(segment);
        let own = self.is_own(ends.far.ip());
        // RFC 9293 §3.10.7.1: CLOSED answers by a reset. The forwarder has one port only.
        if !opens || own && ends.far.port() != names::PORT {
            return self.reply_reset(&ends, segment);
        }
        // Silence, as for a full accept queue: the command's kernel sends the SYN again.
        if self.table.len() >= self.config.flows_max || self.is_short_of_memory() {
            return;
        }
        let role = if own { Role::Names(TcpNames::default()) } else { Role::Carried };
        let index = self.table.insert(Flow::new(ends, opening(now, segment, packet), role));
        if own {
            self.open(now, index, ends.far.is_ipv4(), segment);
        } else if let Some(flow) = self.table.at(index) {
            self.events.push_back(Event::Connect { flow: flow.id(index), to: ends.far });
        }
    }

    fn open(&mut self, now: Time, index: u32, v4: bool, syn: &Segment) {
        let isn = SeqNumber(self.rng.bits() as u32);
        let mut stream = Stream::new(Connection::listen(self.config.tcp(v4), isn));
        // Data on a SYN is not taken: the command sends it again.
        let syn = Segment { payload_len: 0, ..*syn };
        stream.handle_segment(now, &syn, &[], Ecn::NotEct, &mut ());
        if let Some(flow) = self.table.at(index) {
            flow.phase = Phase::Open(Box::new(stream));
        }
        self.enqueue(index);
    }

    /// Handles a segment of the connection at `index`.
    pub(super) fn handle_segment(
        &mut self,
        now: Time,
        index: u32,
        segment: &Segment,
        payload: &[u8],
        ecn: Ecn,
        packet: &[u8],
    ) {
        let Some(flow) = self.table.at(index) else { return };
        let Phase::Open(stream) = &mut flow.phase else {
            return self.handle_while_opening(now, index, segment, packet);
        };
        // RFC 6191 §2: the command may use a port again in TIME-WAIT.
        if flow.released && stream.connection().makes_room_for(segment) {
            let ends = flow.ends;
            self.table.remove(index);
            return self.handle_first_segment(now, ends, segment, packet);
        }
        if !flow.released && stream.connection().state() == State::Closed {
            // The driver has yet to read the rest. A SYN from the same port comes again.
            return;
        }
        stream.handle_segment(now, segment, payload, ecn, &mut ());
        self.after_input(now, index);
    }

    fn handle_while_opening(&mut self, now: Time, index: u32, segment: &Segment, packet: &[u8]) {
        let Some(flow) = self.table.at(index) else { return };
        let (id, ends) = (flow.id(index), flow.ends);
        if is_syn(segment) {
            // Sent again, or a new attempt from the same port: the last one counts.
            flow.phase = opening(now, segment, packet);
            self.table.update(index);
        } else if segment.flags.contains(Flags::RST) {
            self.events.push_back(Event::Reset(id));
            self.table.remove(index);
        } else {
            self.reply_reset(&ends, segment);
        }
    }

    /// Reports what a segment or a timer has changed.
    fn after_input(&mut self, now: Time, index: u32) {
        let Some(flow) = self.table.at(index) else { return };
        let id = flow.id(index);
        let Some(stream) = flow.stream() else { return };
        let mut failed = false;
        while let Some(event) = stream.connection_mut().poll_event() {
            failed |= matches!(event, TcpEvent::Failed(_));
        }
        match &flow.role {
            Role::Names(_) => self.serve_names(now, index),
            Role::Carried if failed => {
                flow.released = true;
                self.events.push_back(Event::Reset(id));
            }
            // The driver knows already, and has not looked yet.
            Role::Carried if flow.active => {}
            Role::Carried => {
                flow.active = true;
                self.events.push_back(Event::Active(id));
            }
        }
        self.enqueue(index);
    }

    pub(super) fn handle_flow_timeout(&mut self, now: Time, index: u32) {
        let Some(flow) = self.table.at(index) else { return };
        let id = flow.id(index);
        match &mut flow.phase {
            Phase::Open(stream) => {
                stream.connection_mut().handle_timeout(now, &mut ());
                self.after_input(now, index);
            }
            Phase::Opening { .. } => {
                // The far end has not answered for as long as the command's kernel would wait.
                self.events.push_back(Event::Reset(id));
                self.table.remove(index);
            }
        }
    }

    /// Enters the flow in the queue of those that may have segments to send.
    pub(super) fn enqueue(&mut self, index: u32) {
        if let Some(flow) = self.table.at(index)
            && !flow.queued
        {
            flow.queued = true;
            self.queue.push_back(index);
        }
    }

    /// Updates timer and memory of a flow that has nothing more to send; forgets it if it has ended.
    pub(super) fn settle(&mut self, index: u32) {
        let short = self.is_short_of_memory();
        let Some(flow) = self.table.at(index) else { return };
        let released = flow.released;
        if let Some(stream) = flow.stream() {
            if released && stream.connection().state() == State::Closed {
                return self.table.remove(index);
            }
            if short {
                stream.release_buffers();
            }
        }
        self.table.update(index);
    }

    pub(super) fn is_short_of_memory(&self) -> bool {
        self.table.memory() >= self.config.memory_max
    }
}

fn is_syn(segment: &Segment) -> bool {
    segment.flags & (Flags::SYN | Flags::ACK | Flags::RST) == Flags::SYN
}

fn opening(now: Time, syn: &Segment, packet: &[u8]) -> Phase {
    let packet = packet[..packet.len().min(SYN_PACKET_KEPT)].to_vec();
    Phase::Opening { syn: *syn, packet, since: now }
}
