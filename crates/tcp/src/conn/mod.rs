//! A connection: the state machine of RFC 9293 over the sender, the receiver and the timers.

mod state;

pub use state::State;

use crate::observer::Observer;
use crate::segment::Segment;
use crate::{Config, SeqNumber};
use windlass_base::{Ecn, Time};

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Connection {}

/// A run of segments to send: all of the same size, one after the other in the stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first segment. CWR rides on it alone; PSH and FIN belong on the last.
    pub first: Segment,
    /// How many segments; each has `first.payload_len` bytes. One for anything without payload.
    pub count: u32,
    /// The codepoint of every packet of the run.
    pub ecn: Ecn,
    /// Where in the stream of bytes the payload begins (0: the first byte written).
    pub stream_offset: u64,
    /// The bytes were sent before.
    pub retransmission: bool,
}

impl Run {
    /// The segments one by one.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        core::iter::empty()
    }
}

/// Payload that the receiver wants kept: `len` bytes, `skip` bytes into the segment's payload, at
/// `stream_offset` of the incoming stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Accepted {
    /// Where in the incoming stream (0: the first byte).
    pub stream_offset: u64,
    /// Bytes at the beginning of the segment's payload that are not wanted.
    pub skip: u32,
    /// Bytes wanted.
    pub len: u32,
}

/// What happened that the application wants to know.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// There are bytes to read, or the end of the stream.
    Readable,
    /// There is room to write again.
    Writable,
    /// The peer sent FIN and everything before it has arrived.
    PeerClosed,
    /// The connection is over, orderly.
    Closed,
    /// The connection failed.
    Failed(Error),
}

/// Why a connection failed, or a call was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The peer reset the connection.
    Reset,
    /// The peer refused the connection (RST in answer to a SYN).
    Refused,
    /// Retransmissions or probes went unanswered for too long.
    TimedOut,
    /// This end aborted.
    Aborted,
    /// The stream is closed in this direction.
    Closed,
}

/// Counters of a connection since its beginning.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments with payload sent again.
    pub retransmitted_segments: u64,
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Segments received.
    pub segments_received: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Packets with CE received.
    pub ce_received: u64,
    /// ACKs with ECN echo received.
    pub ece_received: u64,
    /// Cuts of the window by ECN.
    pub ecn_cuts: u64,
    /// Duplicate segments (nothing new in them) received.
    pub duplicates_received: u64,
}

/// What a handshake would have agreed on, for connections made without one.
pub struct Established {
    /// This end's initial sequence number.
    pub local_isn: SeqNumber,
    /// The other end's.
    pub remote_isn: SeqNumber,
    /// Payload bytes per segment that the peer takes.
    pub peer_mss: u16,
    /// The peer's receive buffer in bytes: its first window.
    pub peer_window: u64,
}

#[allow(unused_variables, missing_docs)]
impl Connection {
    // ---- making one
    /// Active open: a SYN is the first thing to transmit.
    pub fn connect(config: Config, now: Time, isn: SeqNumber) -> Connection {
        todo!()
    }
    /// Passive open: waits for a SYN (LISTEN).
    pub fn listen(config: Config, isn: SeqNumber) -> Connection {
        todo!()
    }
    /// A connection without a handshake (ns-2's habit): both ends take the features of their own
    /// config as agreed, so both configs must offer the same; ECT from the first ACK on.
    pub fn established(config: Config, now: Time, agreed: Established) -> Connection {
        todo!()
    }

    // ---- getters
    pub fn state(&self) -> State {
        todo!()
    }
    pub fn config(&self) -> &Config {
        todo!()
    }
    pub fn stats(&self) -> &Stats {
        todo!()
    }
    pub fn cwnd(&self) -> f64 {
        todo!()
    }
    pub fn ssthresh(&self) -> u64 {
        todo!()
    }
    pub fn slope(&self) -> Option<f64> {
        todo!()
    }
    pub fn smoothed_rtt(&self) -> Option<windlass_base::Span> {
        todo!()
    }
    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u32 {
        todo!()
    }
    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        todo!()
    }
    /// Bytes of the outgoing stream acknowledged.
    pub fn bytes_acked(&self) -> u64 {
        todo!()
    }
    /// Bytes of the outgoing stream written so far.
    pub fn bytes_written(&self) -> u64 {
        todo!()
    }
    /// Bytes of the incoming stream arrived in order.
    pub fn bytes_received(&self) -> u64 {
        todo!()
    }
    /// Bytes readable now.
    pub fn readable(&self) -> u64 {
        todo!()
    }
    /// Room for writing, bytes.
    pub fn writable(&self) -> u64 {
        todo!()
    }

    // ---- commands
    /// Appends up to `bytes` to the outgoing stream; returns how many fit.
    pub fn write(&mut self, bytes: u64) -> Result<u64, Error> {
        todo!()
    }
    /// The application takes up to `bytes`; returns how many, 0 when nothing is there;
    /// `Err(Closed)` at the end of the stream.
    pub fn read(&mut self, bytes: u64) -> Result<u64, Error> {
        todo!()
    }
    /// No more data: FIN after what was written (half-close).
    pub fn close(&mut self, now: Time) {
        todo!()
    }
    /// Reset.
    pub fn abort(&mut self) {
        todo!()
    }

    // ---- in
    /// A segment arrived in a packet with that ECN codepoint.
    pub fn handle_segment(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
        observer: &mut impl Observer,
    ) -> Accepted {
        todo!()
    }
    pub fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) {
        todo!()
    }

    // ---- out
    /// The next run of at most `max` segments.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        max: u32,
        observer: &mut impl Observer,
    ) -> Option<Run> {
        todo!()
    }
    /// When [`Connection::handle_timeout`] wants to be called; `None`: never, as things stand.
    pub fn poll_timeout(&self) -> Option<Time> {
        todo!()
    }
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }
}
