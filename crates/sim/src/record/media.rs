//! Frames of real-time media that reached their sink.

use crate::packet::InFlight;
use windlass_base::{Span, Time};
use windlass_traffic::media::{Figures, Media, Receiver};

/// The frames of a source whose times are in the steady window.
#[derive(Clone, Debug)]
pub(crate) struct MediaRecord {
    media: Media,
    start: Time,
    receiver: Receiver,
    /// Frames that were sent completely and whose deadlines have come.
    due: u64,
}

impl MediaRecord {
    /// The record of a source that starts at `start`.
    pub(crate) fn new(media: &Media, start: Time, steady_from: Time) -> MediaRecord {
        let before = steady_from.saturating_since(start).as_nanos().checked_sub(1);
        let first = before.map_or(0, |before| media.begun(Span::from_nanos(before)));
        let receiver = Receiver::new(media.clone(), first);
        MediaRecord { media: media.clone(), start, receiver, due: 0 }
    }

    /// A packet has reached the sink. A call of its own keeps it out of the event loop's code.
    #[inline(never)]
    pub(crate) fn receive(&mut self, now: Time, packet: &InFlight) {
        self.receiver.packet(now.saturating_since(self.start), packet.frame());
    }

    /// The run ends; so many frames were sent completely.
    pub(crate) fn finish(&mut self, end: Time, frames_sent: u64) {
        self.due = self.media.due(end.saturating_since(self.start)).min(frames_sent);
    }

    pub(crate) fn figures(&self) -> Figures {
        self.receiver.figures(self.due)
    }
}
