//! Figures of applications that their transfers alone do not show.

use super::distribution;
use crate::apps::{Figures, PageLoads};
use serde::Serialize;
use windlass_base::Distribution;
use windlass_traffic::video::Figures as Playback;

/// Loads of pages that began in the steady window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pages {
    /// Loads that came to their end.
    pub completed: u64,
    /// Loads of which a connection failed.
    pub failed: u64,
    /// From the request of the document to the last byte of the last object, in milliseconds.
    #[serde(serialize_with = "distribution::in_ms")]
    pub load_ms: Option<Distribution>,
}

/// The quality of a video, from its first request to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Video {
    /// Seconds from the first request to the beginning of playback; `None`: it has not begun.
    pub startup_s: Option<f64>,
    /// How often playback stalled after its beginning.
    pub rebuffers: u64,
    /// Seconds that it stalled.
    pub rebuffering_s: f64,
    /// Share of the time since the beginning of playback in which it stalled, 0 to 1.
    pub rebuffering_ratio: f64,
    /// Seconds of video that were played.
    pub played_s: f64,
    /// Segments that arrived.
    pub segments: u64,
    /// Mean of their bitrates in Mbit/s.
    pub mean_mbit_per_s: f64,
    /// Segments of another bitrate than the one before.
    pub switches: u64,
}

/// Both kinds of figures; at most one is there.
pub(super) fn figures(figures: Option<Figures>) -> (Option<Pages>, Option<Video>) {
    match figures {
        Some(Figures::Pages(loads)) => (Some(pages(&loads)), None),
        Some(Figures::Video(playback)) => (None, Some(video(&playback))),
        None => (None, None),
    }
}

fn pages(loads: &PageLoads) -> Pages {
    Pages {
        completed: loads.times.count(),
        failed: loads.failed,
        load_ms: loads.times.distribution(),
    }
}

fn video(playback: &Playback) -> Video {
    Video {
        startup_s: playback.startup.map(|startup| startup.as_secs_f64()),
        rebuffers: playback.rebuffers,
        rebuffering_s: playback.rebuffering.as_secs_f64(),
        rebuffering_ratio: playback.rebuffering_ratio(),
        played_s: playback.played.as_secs_f64(),
        segments: playback.segments,
        mean_mbit_per_s: playback.mean_bitrate / 1e6,
        switches: playback.switches,
    }
}
