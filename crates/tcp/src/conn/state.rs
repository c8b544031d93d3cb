/// The states of RFC 9293 §3.3.2.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Sent a SYN.
    SynSent,
    /// Has had a SYN and sent one, waits for its ACK.
    SynReceived,
    /// Data flows both ways.
    Established,
    /// Closed here; FIN not acknowledged yet.
    FinWait1,
    /// Closed here and acknowledged; the peer may still send.
    FinWait2,
    /// The peer closed; this end may still send.
    CloseWait,
    /// Both closed at once; FIN not acknowledged yet.
    Closing,
    /// The peer closed first, then this end; FIN not acknowledged yet.
    LastAck,
    /// Over; late segments are still answered.
    TimeWait,
}

impl State {
    /// The application may write: before the handshake is complete as well.
    pub(crate) fn can_send(self) -> bool {
        matches!(self, State::SynSent | State::SynReceived | State::Established | State::CloseWait)
    }

    /// The peer may send data.
    pub(crate) fn can_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Both ends know each other's sequence numbers.
    pub fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent)
    }
}
