//! Figures of real-time media.

use super::distribution;
use serde::Serialize;
use windlass_base::Distribution;
use windlass_traffic::media::Figures;

/// The frames of a source of real-time media: those whose times are in the steady window, which were
/// sent completely, and whose deadlines came before the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MediaSummary {
    /// How many.
    pub frames: u64,
    /// Complete at the receiver by their deadline.
    pub on_time: u64,
    /// Complete after it.
    pub late: u64,
    /// Never complete.
    pub lost: u64,
    /// The share of late and lost frames; `null` without frames.
    pub miss_ratio: Option<f64>,
    /// From the time of a frame to the arrival of its last packet, of complete frames.
    #[serde(serialize_with = "distribution::in_ms")]
    pub frame_delay_ms: Option<Distribution>,
}

impl MediaSummary {
    pub(super) fn new(figures: &Figures) -> MediaSummary {
        let Figures { on_time, late, lost, ref delays } = *figures;
        let frames = on_time + late + lost;
        MediaSummary {
            frames,
            on_time,
            late,
            lost,
            miss_ratio: (frames > 0).then(|| figures.miss_ratio()),
            frame_delay_ms: delays.distribution(),
        }
    }
}
