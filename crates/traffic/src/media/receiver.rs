//! The receiver of a source: which frames it has, and when.

use super::Media;
use std::collections::{BTreeMap, VecDeque};
use windlass_base::{Sketch, Span};

/// Frames that may be incomplete at once; of more, the oldest count as lost.
const OPEN_MAX: usize = 4096;

/// Counts frames that are complete at the receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    media: Media,
    /// The first frame that counts.
    first: u64,
    /// Frames of which packets are missing: how many have come.
    open: BTreeMap<u64, u32>,
    /// The last frames that were complete in time, which may not be due yet.
    recent: VecDeque<u64>,
    on_time: u64,
    late: u64,
    delays: Sketch,
}

/// Counts of the frames that were due.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Complete by their deadline.
    pub on_time: u64,
    /// Complete after it.
    pub late: u64,
    /// Never complete.
    pub lost: u64,
    /// From the time of a frame to the arrival of its last packet, of all complete frames.
    pub delays: Sketch,
}

impl Figures {
    /// The share of the frames that were not complete by their deadline; 0 without frames.
    pub fn miss_ratio(&self) -> f64 {
        let missed = (self.late + self.lost) as f64;
        let frames = self.on_time as f64 + missed;
        if frames > 0.0 { missed / frames } else { 0.0 }
    }
}

impl Receiver {
    /// A receiver of this source's frames from number `first` on.
    pub fn new(media: Media, first: u64) -> Receiver {
        Receiver {
            media,
            first,
            open: BTreeMap::new(),
            recent: VecDeque::new(),
            on_time: 0,
            late: 0,
            delays: Sketch::default(),
        }
    }

    /// A packet of a frame has come, `now` since the source began. None comes twice.
    pub fn packet(&mut self, now: Span, frame: u64) {
        if frame < self.first {
            return;
        }
        let come = self.open.remove(&frame).unwrap_or(0) + 1;
        if come == self.media.frame(frame).packets {
            self.complete(now, frame);
            return;
        }
        self.open.insert(frame, come);
        if self.open.len() > OPEN_MAX {
            self.open.pop_first();
        }
    }

    fn complete(&mut self, now: Span, frame: u64) {
        let delay = now.saturating_sub(self.media.time(frame));
        self.delays.record(delay);
        if delay > self.media.deadline {
            self.late += 1;
            return;
        }
        self.on_time += 1;
        self.recent.push_back(frame);
        if self.recent.len() > OPEN_MAX {
            self.recent.pop_front();
        }
    }

    /// The figures of the frames whose numbers are below `due`: see [`Media::due`](super::Media::due).
    /// Those after it count neither as complete nor as lost.
    pub fn figures(&self, due: u64) -> Figures {
        let not_due = self.recent.iter().filter(|frame| **frame >= due).count() as u64;
        let on_time = self.on_time - not_due;
        // A late frame is due.
        let lost = due.saturating_sub(self.first + on_time + self.late);
        Figures { on_time, late: self.late, lost, delays: self.delays.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_base::BitRate;

    /// A frame every 100 ms of two packets, which must be there within 50 ms.
    fn media() -> Media {
        Media {
            frames_per_second: 10.0,
            bitrate: vec![(Span::ZERO, BitRate::from_bits_per_sec(160_000).expect("not zero"))],
            key_every: 1,
            key_factor: 1.0,
            packet_bytes: 1000,
            spread: 0.0,
            deadline: Span::from_millis(50),
        }
    }

    /// Arrivals in milliseconds, and the frame of each.
    fn receiver(first: u64, packets: &[(u64, u64)]) -> Receiver {
        let mut receiver = Receiver::new(media(), first);
        packets.iter().for_each(|(ms, frame)| receiver.packet(Span::from_millis(*ms), *frame));
        receiver
    }

    #[test]
    fn a_frame_is_complete_with_its_last_packet() {
        // In time to the millisecond; late; one packet lost; both lost; in time.
        let packets = [(10, 0), (50, 0), (110, 1), (151, 1), (210, 2), (420, 4), (430, 4)];
        let figures = receiver(0, &packets).figures(5);
        assert_eq!((figures.on_time, figures.late, figures.lost), (2, 1, 2));
        assert_eq!(figures.miss_ratio(), 0.6);
        assert_eq!(figures.delays.count(), 3);
        assert_eq!(figures.delays.max(), Some(Span::from_millis(51)));
    }

    #[test]
    fn frames_that_are_not_due_do_not_count() {
        let early = receiver(0, &[(10, 0), (20, 0), (110, 1), (120, 1)]);
        let figures = early.figures(1);
        assert_eq!((figures.on_time, figures.late, figures.lost), (1, 0, 0));
        assert_eq!(early.figures(2).on_time, 2);
        assert_eq!(Receiver::new(media(), 0).figures(0).miss_ratio(), 0.0);
    }

    #[test]
    fn frames_before_the_first_do_not_count() {
        let figures = receiver(1, &[(10, 0), (20, 0), (110, 1), (120, 1)]).figures(3);
        assert_eq!((figures.on_time, figures.late, figures.lost), (1, 0, 1));
        assert_eq!(figures.delays.count(), 1);
    }

    #[test]
    fn the_oldest_of_many_incomplete_frames_are_lost() {
        let mut receiver = Receiver::new(media(), 0);
        let frames = OPEN_MAX as u64 + 1;
        (0..frames).chain(0..frames).for_each(|frame| receiver.packet(Span::ZERO, frame));
        let figures = receiver.figures(frames);
        assert_eq!((figures.on_time, figures.lost), (frames - 1, 1));
    }
}
