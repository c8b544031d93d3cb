//! The readings of the paper.

/// Which reading of the paper a [`DuplicateAckProxy`](crate::DuplicateAckProxy) follows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum DuplicateAcks {
    /// The state machine of section 3.1.2, which never sets CWR: the far host's ECE does not end.
    StateMachine,
    /// The same, with the CWR that the text before the state machine speaks of.
    WithCwr,
    /// Listing D.1: as the state machine, but where nothing is echoed it saves the ACK flag instead of
    /// the ACK number. It also forgets an echo with the third of the packets that it edits.
    Printed,
}
