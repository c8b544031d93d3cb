//! The client: requests, arrivals, figures.

use super::Video;
use super::figures::Figures;
use super::playback::Playback;
use super::rule::Chooser;
use windlass_base::{Rng, Span, Time};

/// A client that plays a video.
#[derive(Clone, Debug)]
pub struct Client {
    video: Video,
    rng: Rng,
    chooser: Chooser,
    /// The first request, and what has been played since.
    playing: Option<(Time, Playback)>,
    pending: Option<Request>,
    arrived: Arrived,
}

/// A segment to be requested.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When to request it: later than now if the buffer is full.
    pub at: Time,
    /// Its size, at least 1.
    pub bytes: u64,
    /// Its place in the ladder.
    pub level: usize,
}

/// Counts of the segments that have come.
#[derive(Copy, Clone, Debug, Default)]
struct Arrived {
    segments: u64,
    /// The sum of their bitrates.
    bits_per_second: f64,
    switches: u64,
    last_level: Option<usize>,
}

impl Client {
    /// A client that has requested nothing. The video must be [valid](Video::validate); `rng` draws the
    /// sizes of segments if they vary.
    pub fn new(video: Video, rng: Rng) -> Client {
        let chooser = Chooser::new(video.rule);
        Client { video, rng, chooser, playing: None, pending: None, arrived: Arrived::default() }
    }

    /// The next segment to request; `None`: the one before has not come, or all are requested.
    pub fn next_request(&mut self, now: Time) -> Option<Request> {
        if self.pending.is_some() || self.is_complete() {
            return None;
        }
        self.advance(now);
        let startup = self.video.startup;
        let (_, playback) = self.playing.get_or_insert_with(|| (now, Playback::new(startup, now)));
        let space = self.video.buffer.saturating_sub(self.video.segment);
        let wait = playback.buffer().saturating_sub(space);
        debug_assert!(wait.is_zero() || playback.is_playing(), "startup is within the buffer");
        let level = self.chooser.choose(&self.video.ladder, playback.buffer().saturating_sub(wait));
        let request = Request { at: now + wait, bytes: self.draw_bytes(level), level };
        self.pending = Some(request);
        Some(request)
    }

    /// The last byte of the requested segment has come. Without a request, nothing happens.
    pub fn segment_arrived(&mut self, now: Time) {
        let Some(request) = self.pending.take() else { return };
        self.advance(now);
        self.arrived.count(request.level, self.video.ladder[request.level].bits_per_sec() as f64);
        let seconds = now.saturating_since(request.at).as_secs_f64();
        if seconds > 0.0 {
            self.chooser.record(request.bytes as f64 * 8.0 / seconds);
        }
        let complete = self.is_complete();
        if let Some((_, playback)) = &mut self.playing {
            playback.add(self.video.segment, complete);
        }
    }

    /// The quality up to `now`, which must not be before the last call.
    pub fn figures(&self, now: Time) -> Figures {
        let mut advanced = self.clone();
        advanced.advance(now);
        let played = advanced.playing.map(|(since, playback)| playback.figures(since));
        let figures = played.unwrap_or_else(|| Playback::new(Span::ZERO, now).figures(now));
        let Arrived { segments, bits_per_second, switches, .. } = self.arrived;
        let mean_bitrate = bits_per_second / segments.max(1) as f64;
        Figures { segments, mean_bitrate, switches, ..figures }
    }

    /// How much the buffer holds at `now`, which must not be before the last call.
    pub fn buffer(&self, now: Time) -> Span {
        let mut advanced = self.clone();
        advanced.advance(now);
        advanced.playing.map_or(Span::ZERO, |(_, playback)| playback.buffer())
    }

    /// True if all segments have come.
    pub fn is_complete(&self) -> bool {
        self.video.segments == Some(self.arrived.segments)
    }

    fn advance(&mut self, now: Time) {
        let complete = self.is_complete();
        if let Some((_, playback)) = &mut self.playing {
            playback.advance(now, complete);
        }
    }

    fn draw_bytes(&mut self, level: usize) -> u64 {
        let bits =
            self.video.ladder[level].bits_per_sec() as f64 * self.video.segment.as_secs_f64();
        let factor = match self.video.variation {
            0.0 => 1.0,
            variation => 1.0 + variation * (2.0 * self.rng.uniform() - 1.0),
        };
        (libm::round(bits * factor / 8.0) as u64).max(1)
    }
}

impl Arrived {
    fn count(&mut self, level: usize, bits_per_second: f64) {
        self.segments += 1;
        self.bits_per_second += bits_per_second;
        if self.last_level.replace(level).is_some_and(|last| last != level) {
            self.switches += 1;
        }
    }
}
