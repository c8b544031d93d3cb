//! The packets of a source.

use super::Media;
use windlass_base::Span;

/// A packet of a frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it leaves, since the source began.
    pub at: Span,
    /// The number of its frame, from 0 on.
    pub frame: u64,
    /// The time of its frame, since the source began.
    pub frame_at: Span,
    /// Its number in the frame, from 0 on.
    pub index: u32,
    /// How many packets the frame has.
    pub of: u32,
    /// Bytes of the frame, without headers.
    pub bytes: u32,
}

/// The packets of a source in the order of their times, without end.
#[derive(Clone, Debug)]
pub struct Source {
    media: Media,
    frame: u64,
    index: u32,
}

impl Source {
    /// The packets of a [valid](Media::validate) source.
    pub fn new(media: Media) -> Source {
        Source { media, frame: 0, index: 0 }
    }

    /// The bytes of a frame: a group has its key frame and `key_every` - 1 others, and all together the
    /// bitrate.
    fn frame_bytes(&self) -> u64 {
        let media = &self.media;
        let at = media.time(self.frame);
        let step = media.bitrate.partition_point(|(from, _)| *from <= at) - 1;
        let mean = media.bitrate[step].1.bits_per_sec() as f64 / 8.0 / media.frames_per_second;
        let group = f64::from(media.key_every);
        let usual = mean * group / (media.key_factor + group - 1.0);
        let is_key = self.frame.is_multiple_of(u64::from(media.key_every));
        let bytes = if is_key { usual * media.key_factor } else { usual };
        (libm::round(bytes) as u64).max(1)
    }

    /// The next packet, without taking it.
    pub fn peek(&self) -> Packet {
        let media = &self.media;
        let (bytes, most) = (self.frame_bytes(), u64::from(media.packet_bytes));
        let of = bytes.div_ceil(most);
        let [frame_at, next] = [self.frame, self.frame + 1].map(|frame| media.time(frame));
        let spread = next.saturating_sub(frame_at).as_secs_f64() * media.spread;
        let share = f64::from(self.index) / of as f64;
        Packet {
            at: frame_at + Span::from_secs_f64(spread * share),
            frame: self.frame,
            frame_at,
            index: self.index,
            // A valid source has at most 10^7 packets in a second.
            of: u32::try_from(of).unwrap_or(u32::MAX),
            bytes: (bytes - u64::from(self.index) * most).min(most) as u32,
        }
    }
}

impl Iterator for Source {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let packet = self.peek();
        self.index += 1;
        if self.index == packet.of {
            self.frame += 1;
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
        let places = packets.iter().map(|packet| (packet.frame, packet.index, packet.of));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 0, 3), (0, 1, 3), (0, 2, 3), (1, 0, 3)]);
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
