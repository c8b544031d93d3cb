//! Events and errors that a connection reports to the application, and the queue for
//! `Connection::poll_event`.

/// An event for the application.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// Data is readable, or the stream has ended.
    Readable,
    /// The send buffer has room again, after a write that did not fit.
    Writable,
    /// The peer's FIN and all data before it have arrived.
    PeerClosed,
    /// The peer has acknowledged all data and this end's FIN.
    Delivered,
    /// The connection ended in an orderly way: both ends have closed.
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
    /// The network cannot reach the peer (ICMP, in answer to a SYN).
    Unreachable,
    /// Retransmissions or probes went unanswered for too long.
    TimedOut,
    /// This end aborted.
    Aborted,
    /// The stream is closed in this direction.
    Closed,
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Error::Reset => "connection reset by peer",
            Error::Refused => "connection refused",
            Error::Unreachable => "peer unreachable",
            Error::TimedOut => "connection timed out",
            Error::Aborted => "connection aborted",
            Error::Closed => "stream closed",
        })
    }
}

impl core::error::Error for Error {}

/// Events that the application has not polled yet: each kind at most once, in the order in which a
/// connection reaches them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    /// A bit for each kind of event; the lowest bit is polled first.
    pending: u8,
    error: Option<Error>,
}

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if let Event::Failed(error) = event {
            self.error = Some(error);
        }
        self.pending |= 1 << rank(event);
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.pending == 0 {
            return None;
        }
        let rank = self.pending.trailing_zeros();
        self.pending &= self.pending - 1;
        match rank {
            0 => Some(Event::Connected),
            1 => Some(Event::Readable),
            2 => Some(Event::Writable),
            3 => Some(Event::PeerClosed),
            4 => Some(Event::Delivered),
            5 => Some(Event::Closed),
            _ => self.error.take().map(Event::Failed),
        }
    }
}

/// The place of an event in the order in which events are polled.
const fn rank(event: Event) -> u8 {
    match event {
        Event::Connected => 0,
        Event::Readable => 1,
        Event::Writable => 2,
        Event::PeerClosed => 3,
        Event::Delivered => 4,
        Event::Closed => 5,
        Event::Failed(_) => 6,
    }
}
