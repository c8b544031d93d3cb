//! The packets of a burst. A network card splits packets with several segments (TSO), so Linux sends such
//! packets, and sets PSH on each.

use std::collections::BTreeSet;
use windlass_tcp::{Ecn, Flags, Run, Segment};

/// Segments that leave at once, in their order.
#[derive(Debug, Default)]
pub(super) struct Burst {
    segments: Vec<Leaving>,
}

#[derive(Copy, Clone, Debug)]
struct Leaving {
    segment: Segment,
    ecn: Ecn,
    /// The end of its payload in the stream.
    end: u64,
    retransmission: bool,
}

impl Burst {
    /// Adds a run. Data that ends where `is_silent` says so has no PSH of its own.
    pub(super) fn add(&mut self, run: &Run, is_silent: impl Fn(u64) -> bool) {
        let mut end = run.stream_offset;
        for mut segment in run.segments() {
            end += u64::from(segment.payload_len);
            if segment.payload_len > 0 && is_silent(end) {
                segment.flags -= Flags::PSH;
            }
            let retransmission = run.retransmission;
            self.segments.push(Leaving { segment, ecn: run.ecn, end, retransmission });
        }
    }

    /// The packets, each of at most `most` segments. `ends` has the ends of all packets of data that left before, over
    /// which copies are not joined.
    pub(super) fn packets(&self, most: u32, ends: &mut BTreeSet<u64>) -> Vec<(Segment, Ecn)> {
        let mut packets = Vec::new();
        let mut rest = &self.segments[..];
        while let [first, others @ ..] = rest {
            let joined = others
                .iter()
                .zip(rest)
                .take(most.max(1) as usize - 1)
                .take_while(|(next, before)| next.continues(before, ends))
                .count();
            let (packet, later) = rest.split_at(joined + 1);
            rest = later;
            if !first.retransmission {
                ends.extend(packet.last().map(|last| last.end));
            }
            packets.extend(whole(packet));
        }
        packets
    }
}

impl Leaving {
    /// True if it goes into one packet with the segment before it: data of no more bytes behind it. Copies are joined if
    /// the originals were.
    fn continues(&self, before: &Leaving, ends: &BTreeSet<u64>) -> bool {
        let (this, other) = (&self.segment, &before.segment);
        this.payload_len > 0
            && this.payload_len <= other.payload_len
            && !other.flags.intersects(Flags::PSH | Flags::FIN)
            && this.seq == other.seq.at(u64::from(other.payload_len))
            && self.retransmission == before.retransmission
            && !(self.retransmission && ends.contains(&before.end))
    }
}

/// Segments of one packet as they are on the wire: as one, or each alone where they have an AccECN option, since a
/// network card that splits packets does not know how to count with it.
fn whole(packet: &[Leaving]) -> Vec<(Segment, Ecn)> {
    let mut segments: Vec<(Segment, Ecn)> =
        packet.iter().map(|leaving| (leaving.segment, leaving.ecn)).collect();
    if let [_, .., (last, _)] = &mut segments[..] {
        last.flags |= Flags::PSH;
    }
    if segments.iter().any(|(segment, _)| segment.options.accecn.is_some()) {
        return segments;
    }
    let len = segments.iter().map(|(segment, _)| segment.payload_len).sum();
    let flags = segments.iter().fold(Flags::empty(), |flags, (segment, _)| flags | segment.flags);
    segments.truncate(1);
    segments
        .iter_mut()
        .for_each(|(segment, _)| (segment.payload_len, segment.flags) = (len, flags));
    segments
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_tcp::{AccEcnOption, AccEcnOrder, Options, SeqNumber};

    fn data(seq: u32, segment: u32, count: u32) -> Run {
        let first = Segment {
            seq: SeqNumber(seq),
            flags: Flags::ACK,
            payload_len: segment,
            ..Segment::default()
        };
        Run { stream_offset: seq.into(), count, first, ..Run::default() }
    }

    /// Flags, number and length of the packets.
    fn packets(burst: &Burst, most: u32, ends: &mut BTreeSet<u64>) -> Vec<(Flags, u32, u32)> {
        let shown =
            |(segment, _): &(Segment, Ecn)| (segment.flags, segment.seq.0, segment.payload_len);
        burst.packets(most, ends).iter().map(shown).collect()
    }

    const PUSH: Flags = Flags::ACK.union(Flags::PSH);

    #[test]
    fn several_segments_are_one_packet_with_psh_and_a_single_one_has_none() {
        let mut burst = Burst::default();
        burst.add(&data(0, 1000, 2), |_| false);
        burst.add(&data(2000, 1000, 1), |_| false);
        let expected = [(PUSH, 0, 2000), (Flags::ACK, 2000, 1000)];
        assert_eq!(packets(&burst, 2, &mut BTreeSet::new()), expected);
    }

    #[test]
    fn copies_are_joined_where_the_originals_were() {
        let mut ends = BTreeSet::new();
        let mut burst = Burst::default();
        burst.add(&data(0, 1000, 4), |_| false);
        burst.packets(2, &mut ends);
        let copies = |first: u32| {
            let mut again = Burst::default();
            for seq in [first, first + 1000] {
                again.add(&Run { retransmission: true, ..data(seq, 1000, 1) }, |_| false);
            }
            again
        };
        assert_eq!(packets(&copies(2000), 2, &mut ends), [(PUSH, 2000, 2000)]);
        let apart = [(Flags::ACK, 1000, 1000), (Flags::ACK, 2000, 1000)];
        assert_eq!(packets(&copies(1000), 2, &mut ends), apart);
    }

    #[test]
    fn segments_with_an_accecn_option_leave_one_by_one_and_the_last_has_psh() {
        let mut burst = Burst::default();
        for seq in [0, 988, 1976] {
            let mut run = data(seq, 988, 1);
            run.first.options = Options {
                accecn: Some(AccEcnOption::new(AccEcnOrder::Ect1First, &[1])),
                ..Options::default()
            };
            burst.add(&run, |_| false);
        }
        let expected = [(Flags::ACK, 0, 988), (PUSH, 988, 988), (Flags::ACK, 1976, 988)];
        assert_eq!(packets(&burst, 2, &mut BTreeSet::new()), expected);
    }

    #[test]
    fn what_ends_a_write_is_not_joined_with_what_follows_and_a_silent_end_is_none() {
        let mut burst = Burst::default();
        let end = |seq| {
            let mut run = data(seq, 1000, 1);
            run.first.flags = PUSH;
            run
        };
        burst.add(&end(0), |end| end == 1000);
        burst.add(&end(1000), |_| false);
        burst.add(&data(2000, 1000, 1), |_| false);
        let expected = [(PUSH, 0, 2000), (Flags::ACK, 2000, 1000)];
        assert_eq!(packets(&burst, 2, &mut BTreeSet::new()), expected);
    }
}
