//! The task of a connection: its purpose and its parameters.

use super::burst::BurstOrder;
use super::cca::ScriptOrder;
use super::ecn::Ask;
use super::split::SplitOrder;
use crate::dialogue::Dialogue;
use crate::tls::Tls;
use windlass_base::Span;

/// The purpose of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To find out whether a server answers: with HTTP to read the head of the answer, else to learn how many
    /// bytes the dialogue brings.
    Scout,
    /// To learn what ECN the server speaks: the SYN asks, some packets of the request are marked, and the
    /// feedback is read.
    Ecn(Ask),
    /// To open the way to the connection that is measured, as the control connection of FTP does. It stays
    /// open after its report, until the other is over.
    Open,
    /// To measure the server's response to the ACKs of a test.
    Measure(SplitOrder),
    /// To see how its congestion controller answers a script.
    Identify(ScriptOrder),
    /// To measure packets that the server sends at once.
    Burst(BurstOrder),
}

/// The task of a connection.
#[derive(Clone, Debug)]
pub struct Order {
    /// The topic, with the topic's own parameters.
    pub purpose: Purpose,
    /// How to get the server to send.
    pub dialogue: Dialogue,
    /// The TLS settings; `None` without TLS.
    pub tls: Option<Tls>,
    /// The longest wait for the SYN-ACK.
    pub handshake: Span,
    /// The longest wait for an answer, from the SYN-ACK on.
    pub patience: Span,
    /// The MSS to announce, in bytes.
    pub mss: u16,
    /// The receive window, in bytes.
    pub window: u32,
    /// All that the server sends in the dialogue, in bytes, if that is known; 0 if not. It tells the end of an
    /// answer that neither the dialogue nor a FIN tells.
    pub supply: u64,
}
