//! A source of real-time media: frames at a fixed rate, cut into packets, each with a deadline; and their
//! receiver, which counts those that miss it.
//!
//! No controller adapts the bitrate: it is fixed, or changes at set times.
//!
//! ```
//! use windlass_base::{BitRate, Span};
//! use windlass_traffic::media::{Media, Receiver, Source};
//!
//! let media = Media {
//!     frames_per_second: 25.0,
//!     bitrate: vec![(Span::ZERO, BitRate::from_bits_per_sec(2_000_000).unwrap())],
//!     key_every: 50,
//!     key_factor: 5.0,
//!     packet_bytes: 1200,
//!     spread: 0.5,
//!     deadline: Span::from_millis(100),
//! };
//! media.validate()?;
//! let mut receiver = Receiver::new(media.clone(), 0);
//! // Each packet takes 30 ms; the first is lost.
//! let packets = Source::new(media).take_while(|packet| packet.at < Span::from_secs(1)).skip(1);
//! packets.for_each(|packet| receiver.packet(packet.at + Span::from_millis(30), packet.frame));
//! let figures = receiver.figures(25);
//! assert_eq!((figures.on_time, figures.late, figures.lost), (24, 0, 1));
//! # Ok::<(), windlass_traffic::ConfigError>(())
//! ```

mod frame;
mod receiver;
mod source;

pub use frame::Frame;
pub use receiver::{Figures, Receiver};
pub use source::{Packet, Source};

use crate::ConfigError;
use windlass_base::{BitRate, Span};

/// The most packets that a second of media may have, so that no frame is endless.
const PACKETS_MAX: f64 = 1e7;

/// A source of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Frames per second, above 0 and at most 1000.
    pub frames_per_second: f64,
    /// The bitrate from each of these times on, since the source began; the first is 0. It counts the
    /// bytes of frames, without headers.
    pub bitrate: Vec<(Span, BitRate)>,
    /// Every so many frames, from the first on, one is a key frame. 1: all are alike.
    pub key_every: u32,
    /// How many times as large a key frame is as another, at least 1. The bitrate stays the same.
    pub key_factor: f64,
    /// The most bytes of a frame in a packet.
    pub packet_bytes: u32,
    /// The packets of a frame leave evenly over this share of the time to the next: 0 all at once, at
    /// most 1.
    pub spread: f64,
    /// How long after its time a frame must be complete at the receiver.
    pub deadline: Span,
}

impl Media {
    /// Checks that the source has frames.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Frames`], [`ConfigError::Bitrate`], [`ConfigError::KeyFrames`] or
    /// [`ConfigError::Packets`].
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !(self.frames_per_second > 0.0 && self.frames_per_second <= 1000.0) {
            return Err(ConfigError::Frames);
        }
        let from_zero = self.bitrate.first().is_some_and(|(at, _)| at.is_zero());
        if !from_zero || !self.bitrate.is_sorted_by(|one, next| one.0 < next.0) {
            return Err(ConfigError::Bitrate);
        }
        if self.key_every == 0 || !(1.0..=1000.0).contains(&self.key_factor) {
            return Err(ConfigError::KeyFrames);
        }
        let most = self.bitrate.iter().map(|(_, rate)| rate.bits_per_sec()).max().unwrap_or(0);
        let packets = most as f64 / 8.0 / f64::from(self.packet_bytes);
        // Not so for a packet of no bytes.
        if !(packets <= PACKETS_MAX && (0.0..=1.0).contains(&self.spread)) {
            return Err(ConfigError::Packets);
        }
        Ok(())
    }
}
