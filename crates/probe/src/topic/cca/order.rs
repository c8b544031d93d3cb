//! The task of a connection that follows a script.

use crate::topic::ecn::Ask;
use windlass_base::Span;

/// The task of a connection that identifies the congestion controller.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ScriptOrder {
    /// The kind of ECN that the SYN requests; `None`: no ECN.
    pub ecn: Option<Ask>,
    /// The least round-trip time of earlier handshakes with the server. `None`: there was none.
    pub path_rtt: Option<Span>,
}
