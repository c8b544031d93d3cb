//! The buffer of a client and the playback that empties it.

use super::figures::Figures;
use windlass_base::{Span, Time};

/// The buffer over time.
#[derive(Clone, Debug)]
pub(super) struct Playback {
    /// Up to when the figures below count.
    now: Time,
    startup: Span,
    buffer: Span,
    state: State,
    started: Option<Time>,
    rebuffers: u64,
    rebuffering: Span,
    played: Span,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum State {
    /// Before the start, or stalled.
    Waiting,
    Playing,
}

impl Playback {
    pub(super) fn new(startup: Span, now: Time) -> Playback {
        Playback {
            now,
            startup,
            buffer: Span::ZERO,
            state: State::Waiting,
            started: None,
            rebuffers: 0,
            rebuffering: Span::ZERO,
            played: Span::ZERO,
        }
    }

    pub(super) fn buffer(&self) -> Span {
        self.buffer
    }

    pub(super) fn is_playing(&self) -> bool {
        self.state == State::Playing
    }

    /// Time passes. `complete`: all segments have come, so that an empty buffer is the end.
    pub(super) fn advance(&mut self, now: Time, complete: bool) {
        let passed = now.saturating_since(self.now);
        self.now = self.now.max(now);
        let played = match self.state {
            State::Playing => passed.min(self.buffer),
            State::Waiting => Span::ZERO,
        };
        self.played += played;
        self.buffer = self.buffer.saturating_sub(played);
        let stalled = passed.saturating_sub(played);
        if stalled.is_zero() || self.started.is_none() || (complete && self.buffer.is_zero()) {
            return;
        }
        self.rebuffering += stalled;
        if self.state == State::Playing {
            self.state = State::Waiting;
            self.rebuffers += 1;
        }
    }

    /// A segment has come; `complete`: the last one.
    pub(super) fn add(&mut self, segment: Span, complete: bool) {
        self.buffer += segment;
        if self.buffer >= self.startup || complete {
            self.state = State::Playing;
            self.started.get_or_insert(self.now);
        }
    }

    /// The figures of playback; those of the segments are left at zero.
    pub(super) fn figures(&self, since: Time) -> Figures {
        Figures {
            startup: self.started.map(|started| started.saturating_since(since)),
            rebuffers: self.rebuffers,
            rebuffering: self.rebuffering,
            played: self.played,
            segments: 0,
            mean_bitrate: 0.0,
            switches: 0,
        }
    }
}
