/// The states of RFC 9293 §3.3.2.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No connection.
    Closed,
    /// This end waits for a SYN.
    Listen,
    /// This end has sent a SYN and waits for the peer's.
    SynSent,
    /// This end has received a SYN, has sent its own and waits for its ACK.
    SynReceived,
    /// The handshake is complete; both ends may send data.
    Established,
    /// This end has closed; its FIN is not acknowledged yet.
    FinWait1,
    /// This end has closed and its FIN is acknowledged; the peer may still send.
    FinWait2,
    /// The peer has closed; this end may still send.
    CloseWait,
    /// Both ends have closed at the same time; this end's FIN is not acknowledged yet.
    Closing,
    /// The peer has closed, then this end; its FIN is not acknowledged yet.
    LastAck,
    /// Both ends have closed; this end still answers late segments.
    TimeWait,
}

impl State {
    /// True if the application may write, which includes the time before the handshake is complete.
    pub(crate) fn can_send(self) -> bool {
        matches!(self, State::SynSent | State::SynReceived | State::Established | State::CloseWait)
    }

    /// True if the peer may send data.
    pub(crate) fn can_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// True if both ends know each other's initial sequence number.
    pub fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent)
    }
}
