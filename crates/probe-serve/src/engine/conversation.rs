//! One connection of an [`EngineServer`](super::EngineServer): the engine's stream with the application that answers
//! on it.

use crate::answer::Outgoing;
use crate::ended::Ended;
use crate::page::Speaker;
use std::collections::VecDeque;
use windlass_base::{Ecn, Span, Time};
use windlass_probe::wire::{self, Flow, Received};
use windlass_tcp::stream::Stream;
use windlass_tcp::{Config, Connection, Flags, Options, Segment, SeqNumber, State};

/// Bytes of a request at most, with a handshake of TLS.
pub(super) const REQUEST_BYTES_MAX: u64 = 64 << 10;
/// The time from the first SYN to the end of the request at most.
pub(super) const REQUEST_TIME_MAX: Span = Span::from_secs(60);
/// The time at most that a client keeps its half of the connection open after the answer, as in Linux.
pub(super) const FIN_WAIT_2_MAX: Span = Span::from_secs(60);

/// A connection of a server with a client.
pub(super) struct Conversation {
    /// Stores incoming bytes only.
    stream: Stream,
    /// `None` once the answer is complete.
    speaker: Option<Box<dyn Speaker>>,
    outgoing: Outgoing,
    isn: SeqNumber,
    client_isn: SeqNumber,
    /// The header sent last.
    last: Segment,
    /// When the server gives the client up.
    deadline: Option<Time>,
    /// Its entry among the timers.
    pub(super) timer: Option<Time>,
    /// Unacknowledged segments and their positions in the stream; kept only if the server retransmits the
    /// rest of a segment.
    pub(super) sent: VecDeque<(Segment, u64)>,
}

impl Conversation {
    /// The connection that `syn` begins, in LISTEN.
    pub(super) fn new(
        now: Time,
        config: Config,
        isn: SeqNumber,
        syn: &Segment,
        speaker: Box<dyn Speaker>,
    ) -> Conversation {
        Conversation {
            stream: Stream::new(Connection::listen(config, isn)),
            speaker: Some(speaker),
            outgoing: Outgoing::default(),
            isn,
            client_isn: syn.seq,
            last: Segment::default(),
            deadline: Some(now + REQUEST_TIME_MAX),
            timer: None,
            sent: VecDeque::new(),
        }
    }

    pub(super) fn state(&self) -> State {
        self.stream.connection().state()
    }

    /// Handles a segment. Returns the number of bytes that it acknowledged.
    pub(super) fn handle_segment(&mut self, now: Time, received: &Received<'_>) -> u64 {
        let before = self.stream.connection().bytes_acked();
        let (segment, payload) = (&received.segment, received.payload);
        self.stream.handle_segment(now, segment, payload, received.ecn, &mut ());
        self.stream.connection().bytes_acked().saturating_sub(before)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.stream.connection_mut().abort();
        } else {
            self.stream.connection_mut().handle_timeout(now, &mut ());
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.stream.connection().poll_timeout().into_iter().chain(self.deadline).min()
    }

    /// Lets the application read and write.
    pub(super) fn speak(&mut self, now: Time) {
        self.hear();
        let connection = self.stream.connection_mut();
        while connection.poll_event().is_some() {}
        if connection.bytes_written() < self.outgoing.written() {
            // A connection that is over takes nothing.
            let _ = connection.write(self.outgoing.written() - connection.bytes_written());
        }
        if self.speaker.is_none() && connection.bytes_written() == self.outgoing.written() {
            connection.close(now);
        }
        self.outgoing.release(connection.bytes_acked());
        self.stream.release_buffers();
        if self.state() == State::FinWait2 {
            self.deadline.get_or_insert(now + FIN_WAIT_2_MAX);
        }
    }

    fn hear(&mut self) {
        let mut chunk = [0; 4096];
        while let Ok(len @ 1..) = self.stream.read(&mut chunk) {
            if let Some(speaker) = &mut self.speaker
                && speaker.hear(&chunk[..len], &mut self.outgoing)
            {
                self.end_request();
            }
        }
        if self.speaker.is_none() {
            return;
        }
        if self.stream.connection().peer_closed() {
            self.end_request();
        } else if self.stream.connection().bytes_read() > REQUEST_BYTES_MAX {
            self.stream.connection_mut().abort();
        }
    }

    fn end_request(&mut self) {
        self.speaker = None;
        self.deadline = None;
    }

    /// The next packet to send, and its segment. `payload` is memory that its bytes pass through. With
    /// `keep` the segment is kept until it is acknowledged.
    pub(super) fn poll_packet(
        &mut self,
        now: Time,
        flow: &Flow,
        payload: &mut Vec<u8>,
        keep: bool,
    ) -> Option<Vec<u8>> {
        let run = self.stream.connection_mut().poll_transmit(now, 1, &mut ())?;
        self.last = run.first;
        if keep {
            self.keep(&run.first, run.stream_offset);
        }
        Some(self.packet(flow, &run.first, run.ecn, run.stream_offset, payload))
    }

    fn packet(
        &self,
        flow: &Flow,
        segment: &Segment,
        ecn: Ecn,
        from: u64,
        payload: &mut Vec<u8>,
    ) -> Vec<u8> {
        self.outgoing.read(from, segment.payload_len as usize, payload);
        packet(flow, segment, ecn, payload)
    }

    /// Keeps the new part of a sent segment.
    fn keep(&mut self, segment: &Segment, from: u64) {
        let is_new = |(last, _): &(Segment, u64)| {
            segment.seq.distance_from(last.seq) >= last.payload_len as i32
        };
        if segment.payload_len > 0 && self.sent.back().is_none_or(is_new) {
            self.sent.push_back((*segment, from));
        }
    }

    /// The packet with the rest of the segment that `ack` ends in.
    pub(super) fn rest(
        &mut self,
        flow: &Flow,
        ack: SeqNumber,
        payload: &mut Vec<u8>,
    ) -> Option<Vec<u8>> {
        let acknowledged = |(segment, _): &(Segment, u64)| {
            ack.distance_from(segment.seq) >= segment.payload_len as i32
        };
        while self.sent.front().is_some_and(acknowledged) {
            self.sent.pop_front();
        }
        let (segment, from) = self.sent.front()?;
        let within = u32::try_from(ack.distance_from(segment.seq)).ok().filter(|len| *len > 0)?;
        let payload_len = segment.payload_len.checked_sub(within)?;
        let rest = Segment { seq: ack, payload_len, ..*segment };
        Some(self.packet(flow, &rest, Ecn::NotEct, from + u64::from(within), payload))
    }

    /// Sends no longer packets than these from now on.
    pub(super) fn set_mss(&mut self, bytes: u32) {
        self.stream.connection_mut().set_mss(bytes);
    }

    /// The ACK of everything that the client has sent, its FIN included. The server's FIN is acknowledged.
    pub(super) fn final_ack(&self) -> Segment {
        let connection = self.stream.connection();
        let timestamps = self.last.options.timestamps;
        Segment {
            // Beyond the bytes are a SYN and a FIN.
            seq: self.isn.at(connection.bytes_written() + 2),
            ack: self.client_isn.at(connection.bytes_received() + 2),
            // With AccECN the flags are the counter of marks (RFC 9768 §3.2.2).
            flags: Flags::ACK | self.last.flags & (Flags::AE | Flags::CWR | Flags::ECE),
            window: self.last.window,
            options: Options { timestamps, ..Options::default() },
            ..Segment::default()
        }
    }

    /// The account of the connection.
    pub(super) fn ended(&self, flow: &Flow) -> Ended {
        Ended::new(flow, self.stream.connection())
    }

    /// Bytes that it holds or has promised to hold.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        size_of::<Conversation>() + self.stream.memory() as usize + self.outgoing.memory()
    }
}

/// The packet that carries `segment` with `payload`.
pub(super) fn packet(flow: &Flow, segment: &Segment, ecn: Ecn, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    wire::emit_with_ecn(flow, segment, ecn, &[payload], 0, &mut packet);
    packet
}
