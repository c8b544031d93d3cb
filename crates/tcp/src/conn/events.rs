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

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Error::Reset => "connection reset by peer",
            Error::Refused => "connection refused",
            Error::TimedOut => "connection timed out",
            Error::Aborted => "connection aborted",
            Error::Closed => "stream closed",
        })
    }
}

impl core::error::Error for Error {}

/// Events not told yet: each kind at most once, told in the order of a connection's life.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    told: u8,
    error: Option<Error>,
}

const ORDER: [Event; 5] =
    [Event::Connected, Event::Readable, Event::Writable, Event::PeerClosed, Event::Closed];

impl Events {
    pub(crate) fn push(&mut self, event: Event) {
        if let Some(index) = ORDER.iter().position(|e| *e == event) {
            self.told |= 1 << index;
        }
    }

    pub(crate) fn fail(&mut self, error: Error) {
        self.error = Some(error);
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.told != 0 {
            let index = self.told.trailing_zeros();
            self.told &= self.told - 1;
            return Some(ORDER[index as usize]);
        }
        self.error.take().map(Event::Failed)
    }
}
