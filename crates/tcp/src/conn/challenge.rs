use windlass_base::{Span, Time};

/// How many challenge ACKs in how long: what a flood of forged segments can draw from this end
/// (RFC 5961 §7).
const MOST: u32 = 10;
const WINDOW: Span = Span::from_secs(5);

/// Counts challenge ACKs: answers that ask whether a suspicious segment was meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Challenges {
    window_began: Time,
    sent: u32,
}

impl Challenges {
    /// Whether one more may go out now; it then counts.
    pub(crate) fn allow(&mut self, now: Time) -> bool {
        if now.saturating_since(self.window_began) >= WINDOW {
            *self = Challenges { window_began: now, sent: 0 };
        }
        self.sent += 1;
        self.sent <= MOST
    }
}
