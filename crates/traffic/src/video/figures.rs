//! The quality of a playback.

use windlass_base::Span;

/// The quality that a viewer saw.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Figures {
    /// From the first request to the begin of playback; `None`: it has not begun.
    pub startup: Option<Span>,
    /// How often playback stalled after its begin.
    pub rebuffers: u64,
    /// How long in all.
    pub rebuffering: Span,
    /// How much was played.
    pub played: Span,
    /// How many segments have come.
    pub segments: u64,
    /// The mean of their bitrates in bits per second. All play equally long, so this is the mean over
    /// time; 0 without segments.
    pub mean_bitrate: f64,
    /// How many of them had another level than the one before.
    pub switches: u64,
}

impl Figures {
    /// The share of the time since the begin of playback in which it stalled; 0 before.
    pub fn rebuffering_ratio(&self) -> f64 {
        let time = (self.rebuffering + self.played).as_secs_f64();
        if time > 0.0 { self.rebuffering.as_secs_f64() / time } else { 0.0 }
    }
}
