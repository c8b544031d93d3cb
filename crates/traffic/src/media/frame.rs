//! The frames of a source.

use super::Media;
use windlass_base::Span;

/// A frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its time, since the source began.
    pub at: Span,
    /// Its size, at least 1.
    pub bytes: u64,
    /// How many packets it has.
    pub packets: u32,
}

impl Media {
    /// When a frame has its time, since the source began.
    pub fn time(&self, number: u64) -> Span {
        Span::from_secs_f64(number as f64 / self.frames_per_second)
    }

    /// A frame by its number, from 0 on. A group has its key frame and `key_every` - 1 others, and all
    /// together the bitrate.
    pub fn frame(&self, number: u64) -> Frame {
        let at = self.time(number);
        let step = self.bitrate.partition_point(|(from, _)| *from <= at) - 1;
        let mean = self.bitrate[step].1.bits_per_sec() as f64 / 8.0 / self.frames_per_second;
        let group = f64::from(self.key_every);
        let usual = mean * group / (self.key_factor + group - 1.0);
        let is_key = number.is_multiple_of(u64::from(self.key_every));
        let bytes = if is_key { usual * self.key_factor } else { usual };
        let bytes = (libm::round(bytes) as u64).max(1);
        // A valid source has far fewer packets.
        let packets = bytes.div_ceil(u64::from(self.packet_bytes)).min(u64::from(u32::MAX)) as u32;
        Frame { at, bytes, packets }
    }

    /// How many frames have a deadline of at most `now`, since the source began.
    pub fn due(&self, now: Span) -> u64 {
        let Some(since) = now.as_nanos().checked_sub(self.deadline.as_nanos()) else { return 0 };
        self.begun(Span::from_nanos(since))
    }

    /// How many frames have a time of at most `now`, since the source began.
    pub fn begun(&self, now: Span) -> u64 {
        // Rounding may make the estimate one too high or too low.
        let estimate = (now.as_secs_f64() * self.frames_per_second) as u64;
        let near = estimate.saturating_sub(1)..estimate.saturating_add(2);
        near.clone().find(|number| self.time(*number) > now).unwrap_or(near.end)
    }
}
