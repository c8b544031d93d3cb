//! What a connection showed: the window of each round.

use super::script::Show;
use serde::{Deserialize, Serialize};

/// The windows of a connection.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The round-trip time of the script, in milliseconds.
    pub rtt_ms: f64,
    /// The round-trip time of the path itself, in milliseconds.
    pub path_rtt_ms: f64,
    /// Payload of the longest packet, in bytes.
    pub mss: u32,
    /// The server negotiated ECN.
    pub ecn: bool,
    /// The feedback is that of AccECN (RFC 9768).
    #[serde(default)]
    pub accurate: bool,
    /// The script came to its end.
    pub complete: bool,
    /// Packets that the path lost, and which were acknowledged all the same.
    pub path_losses: u32,
    /// Packets that the path marked, which was not fed back.
    #[serde(default)]
    pub path_marks: u32,
    /// The path lost or marked so many packets that the script ended.
    pub lossy: bool,
    /// The server reset the connection.
    #[serde(default)]
    pub reset: bool,
    /// Packets that the server sent again without a loss of the script.
    pub repeated: u32,
    /// All bytes that arrived.
    pub bytes: u64,
    /// The data in flight when the server learned of each loss of the script, in segments.
    pub losses: Vec<f64>,
    /// The rounds, in their order.
    pub rounds: Vec<Round>,
}

/// A round: from an ACK to the ACK of the data that it brought.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The stage.
    pub show: Show,
    /// When it ended, in milliseconds since the handshake.
    pub at_ms: f64,
    /// The most data in flight, in segments.
    pub window: f64,
    /// A loss of the script was not yet repaired: the window is no steady one.
    pub recovering: bool,
    /// An ACK of it fed back a mark.
    pub marked: bool,
    /// ACKs of it that fed back a mark.
    #[serde(default)]
    pub marks: u32,
}

impl Trace {
    /// The windows of the steady rounds of a stage.
    pub fn windows(&self, show: Show) -> Vec<f64> {
        let of_stage = self.rounds.iter().filter(|round| round.show == show && !round.recovering);
        of_stage.map(|round| round.window).collect()
    }
}
