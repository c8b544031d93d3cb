//! A client of video over HTTP: segments of equal duration, each from a ladder of bitrates, requested
//! one after the other into a buffer that playback empties.
//!
//! The caller carries the bytes: it asks [`Client::next_request`] for a segment, and says
//! [`Client::segment_arrived`] when its last byte has come.
//!
//! ```
//! use windlass_base::{BitRate, Rng, Span, Time};
//! use windlass_traffic::video::{Client, Rule, Video};
//!
//! let ladder = [1, 2, 4].map(|mbit| BitRate::from_bits_per_sec(mbit * 1_000_000).unwrap());
//! let video = Video {
//!     ladder: ladder.to_vec(),
//!     segment: Span::from_secs(4),
//!     segments: Some(10),
//!     startup: Span::from_secs(8),
//!     buffer: Span::from_secs(20),
//!     variation: 0.0,
//!     rule: Rule::Rate { window: 5, safety: 0.9 },
//! };
//! video.validate()?;
//! let mut client = Client::new(video, Rng::new(1));
//! let mut now = Time::ZERO;
//! while let Some(request) = client.next_request(now) {
//!     // The network delivers at 3 Mbit/s.
//!     now = request.at + Span::from_secs_f64(request.bytes as f64 * 8.0 / 3e6);
//!     client.segment_arrived(now);
//! }
//! let figures = client.figures(now + Span::from_secs(60));
//! assert_eq!((figures.rebuffers, figures.switches), (0, 1));
//! assert_eq!(figures.played, Span::from_secs(40));
//! # Ok::<(), windlass_traffic::ConfigError>(())
//! ```

mod client;
mod figures;
mod playback;
mod rule;

pub use client::{Client, Request};
pub use figures::Figures;
pub use rule::Rule;

use crate::ConfigError;
use windlass_base::{BitRate, Span};

/// A video and how a client plays it.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// The bitrates of its levels, ascending.
    pub ladder: Vec<BitRate>,
    /// How long a segment plays.
    pub segment: Span,
    /// How many segments it has; `None`: no end.
    pub segments: Option<u64>,
    /// Playback begins, and resumes after a stall, with so much in the buffer.
    pub startup: Span,
    /// How much the buffer holds. A segment is requested as soon as there is space for it.
    pub buffer: Span,
    /// How much the size of a segment differs from its bitrate times its duration, as a share of them:
    /// a uniform draw up to it, in both directions. 0: all have the same.
    pub variation: f64,
    /// How the level of the next segment is chosen.
    pub rule: Rule,
}

impl Video {
    /// Checks that the video can be played.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Ladder`], [`ConfigError::Buffer`], [`ConfigError::Variation`], or that of the rule.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.ladder.is_empty() || !self.ladder.is_sorted_by(|low, high| low < high) {
            return Err(ConfigError::Ladder);
        }
        // The buffer takes whole segments: up to so much before playback begins.
        let segment = self.segment.as_nanos();
        let filled = self.buffer.as_nanos().checked_div(segment).unwrap_or(0) * segment;
        if filled == 0 || self.startup.as_nanos() > filled || self.segments == Some(0) {
            return Err(ConfigError::Buffer);
        }
        if !(0.0..1.0).contains(&self.variation) {
            return Err(ConfigError::Variation);
        }
        self.rule.validate(self)
    }
}
