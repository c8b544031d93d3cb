//! The packets of a source.

use super::{Frame, Media};
use windlass_base::Span;

/// A packet of a frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it leaves, since the source began.
    pub at: Span,
    /// The number of its frame, from 0 on.
    pub frame: u64,
    /// Its number in the frame, from 0 on.
    pub index: u32,
    /// Bytes of the frame, without headers.
    pub bytes: u32,
}

/// The packets of a source in the order of their times, without end.
#[derive(Clone, Debug)]
pub struct Source {
    media: Media,
    number: u64,
    frame: Frame,
    index: u32,
}

impl Source {
    /// The packets of a [valid](Media::validate) source.
    pub fn new(media: Media) -> Source {
        let frame = media.frame(0);
        Source { media, number: 0, frame, index: 0 }
    }

    /// How many frames it has put out completely.
    pub fn complete_frames(&self) -> u64 {
        self.number
    }

    fn packet(&self) -> Packet {
        let Frame { at, bytes, packets } = self.frame;
        let most = u64::from(self.media.packet_bytes);
        let interval = self.media.time(self.number + 1).saturating_sub(at).as_secs_f64();
        let share = f64::from(self.index) / f64::from(packets);
        Packet {
            at: at + Span::from_secs_f64(interval * self.media.spread * share),
            frame: self.number,
            index: self.index,
            bytes: (bytes - u64::from(self.index) * most).min(most) as u32,
        }
    }
}

impl Iterator for Source {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let packet = self.packet();
        self.index += 1;
        if self.index == self.frame.packets {
            self.number += 1;
            self.frame = self.media.frame(self.number);
            self.index = 0;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigError;
    use windlass_base::BitRate;

    fn kbit(rate: u64) -> BitRate {
        BitRate::from_bits_per_sec(rate * 1000).expect("not zero")
    }

    /// 10 frames a second of 10 kB each, in packets of up to 4 kB.
    fn media() -> Media {
        Media {
            frames_per_second: 10.0,
            bitrate: vec![(Span::ZERO, kbit(800))],
            key_every: 1,
            key_factor: 1.0,
            packet_bytes: 4000,
            spread: 0.0,
            deadline: Span::from_millis(50),
        }
    }

    #[test]
    fn a_frame_is_cut_into_full_packets_and_a_rest() {
        let packets: Vec<Packet> = Source::new(media()).take(4).collect();
        let bytes: Vec<u32> = packets.iter().map(|packet| packet.bytes).collect();
        assert_eq!(bytes, [4000, 4000, 2000, 4000]);
        let places = packets.iter().map(|packet| (packet.frame, packet.index));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 0), (0, 1), (0, 2), (1, 0)]);
        assert_eq!(packets[2].at, Span::ZERO, "all at once");
        assert_eq!(packets[3].at, Span::from_millis(100));
    }

    #[test]
    fn packets_spread_over_a_share_of_the_time_to_the_next_frame() {
        let packets = Source::new(Media { spread: 0.6, ..media() }).take(5);
        let at: Vec<u64> = packets.map(|packet| packet.at.as_nanos() / 1_000_000).collect();
        assert_eq!(at, [0, 20, 40, 100, 120]);
    }

    /// Groups of 4 with a key frame of 7 times the others: 40 kB are ten parts of 4 kB.
    #[test]
    fn key_frames_are_larger_at_the_same_bitrate() {
        let source = Source::new(Media { key_every: 4, key_factor: 7.0, ..media() });
        let mut frames = [0; 8];
        let packets = source.take_while(|packet| packet.frame < 8);
        packets.for_each(|packet| frames[packet.frame as usize] += packet.bytes);
        assert_eq!(frames, [28_000, 4000, 4000, 4000, 28_000, 4000, 4000, 4000]);
    }

    #[test]
    fn the_bitrate_changes_with_the_first_frame_from_a_time_on() {
        let bitrate = vec![(Span::ZERO, kbit(800)), (Span::from_millis(150), kbit(80))];
        let source = Source::new(Media { bitrate, ..media() });
        let bytes: Vec<u32> = source.take(8).map(|packet| packet.bytes).collect();
        assert_eq!(bytes, [4000, 4000, 2000, 4000, 4000, 2000, 1000, 1000]);
    }

    #[test]
    fn a_frame_is_due_when_its_deadline_has_come() {
        let media = Media { frames_per_second: 30.0, ..media() };
        let due = |ns: u64| media.due(Span::from_nanos(ns));
        assert_eq!([due(0), due(49_999_999), due(50_000_000)], [0, 0, 1]);
        for frame in [1, 2, 3, 29, 30, 1_000_003] {
            let deadline = (media.time(frame) + media.deadline).as_nanos();
            assert_eq!((due(deadline - 1), due(deadline)), (frame, frame + 1));
        }
    }

    #[test]
    fn media_without_frames_are_refused() {
        assert_eq!(media().validate(), Ok(()));
        let refused = |media: Media| media.validate().expect_err("no media");
        for frames_per_second in [0.0, f64::NAN, 1000.1] {
            assert_eq!(refused(Media { frames_per_second, ..media() }), ConfigError::Frames);
        }
        let second = (Span::from_secs(1), kbit(1));
        for bitrate in [vec![], vec![second], vec![(Span::ZERO, kbit(1)), second, second]] {
            assert_eq!(refused(Media { bitrate, ..media() }), ConfigError::Bitrate);
        }
        assert_eq!(refused(Media { key_every: 0, ..media() }), ConfigError::KeyFrames);
        assert_eq!(refused(Media { key_factor: 0.5, ..media() }), ConfigError::KeyFrames);
        assert_eq!(refused(Media { packet_bytes: 0, ..media() }), ConfigError::Packets);
        assert_eq!(refused(Media { spread: 1.1, ..media() }), ConfigError::Packets);
    }
}
