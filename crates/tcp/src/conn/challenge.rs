//! The limit of challenge ACKs, which `validate` asks before it has one sent.

use windlass_base::{Span, Time};

/// The most challenge ACKs per `WINDOW`, which bounds the answers to a flood of forged segments
/// (RFC 5961 §7).
const MOST: u32 = 10;
const WINDOW: Span = Span::from_secs(5);

/// Limits the rate of challenge ACKs. A challenge ACK answers a suspicious segment; a peer that
/// really sent the segment reacts to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Challenges {
    window_began: Time,
    sent: u32,
}

impl Challenges {
    /// True if one more challenge ACK may be sent now, and counts it.
    pub(crate) fn allow(&mut self, now: Time) -> bool {
        if now.saturating_since(self.window_began) >= WINDOW {
            *self = Challenges { window_began: now, sent: 0 };
        }
        self.sent += 1;
        self.sent <= MOST
    }
}
