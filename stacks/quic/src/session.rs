//! One end of a QUIC connection, as the application sees it.

use bytes::BytesMut;
use std::fmt;
use std::time::Instant;
use windlass_base::Ecn;
use windlass_sim::endpoint::{EndpointStatus, Transmit};

/// The number of a stream as on the wire (RFC 9000 section 2.1).
pub type StreamId = u64;

/// Which ends of a stream send.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The end that opens it.
    One,
    /// Both ends.
    Both,
}

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The other end may have opened streams of this kind.
    Opened(Direction),
    /// A stream may have data to read.
    Readable(StreamId),
    /// A stream that was blocked may take data.
    Writable(StreamId),
    /// More streams may be opened.
    Available,
    /// The connection is over, in the transport's own words.
    Lost(String),
}

/// Bytes read from a stream.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Bytes read, in order.
    pub bytes: u64,
    /// Whether the other end has finished the stream and everything is read.
    pub finished: bool,
}

/// One end of a QUIC connection without I/O: at most one connection, which the end opens or accepts. Before it is
/// there, and after it is over, every method does nothing.
pub trait Session: fmt::Debug {
    /// Opens the connection.
    ///
    /// # Errors
    ///
    /// The transport's own words.
    fn connect(&mut self, now: Instant) -> Result<(), String>;

    /// Processes a datagram; `ecn` is its codepoint.
    fn handle_datagram(&mut self, now: Instant, ecn: Ecn, payload: BytesMut);

    /// Processes due timers.
    fn handle_timeout(&mut self, now: Instant);

    /// When the next timer is due.
    fn poll_timeout(&mut self) -> Option<Instant>;

    /// Writes the next datagram into the empty `payload`.
    fn poll_transmit(&mut self, now: Instant, payload: &mut Vec<u8>) -> Option<Transmit>;

    /// The next event.
    fn poll_event(&mut self) -> Option<Event>;

    /// Opens a stream; `None` if the other end allows no more at present.
    fn open(&mut self, direction: Direction) -> Option<StreamId>;

    /// A stream that the other end has opened; `None` if there are no more.
    fn accept(&mut self, direction: Direction) -> Option<StreamId>;

    /// Writes zero bytes, at most `limit`; returns how many. 0: the stream is blocked, or gone.
    fn write(&mut self, stream: StreamId, limit: u64) -> u64;

    /// Ends the sending side of a stream.
    fn finish(&mut self, stream: StreamId);

    /// Reads what there is, in order.
    fn read(&mut self, stream: StreamId) -> Read;

    /// The state of the congestion controller.
    fn status(&self) -> EndpointStatus;

    /// The transport's counters by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
