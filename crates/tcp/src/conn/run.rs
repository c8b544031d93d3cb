//! Runs of segments to send, and the part of a payload to store.

use crate::{Flags, Segment};
use windlass_base::Ecn;

/// A run of segments to send: of equal size and consecutive in the stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Run {
    /// Offset of the payload in the outgoing stream, in bytes (0: the first byte written).
    pub stream_offset: u64,
    /// Number of segments, each with `first.payload_len` bytes; 1 for a segment without payload.
    pub count: u32,
    /// The ECN codepoint of every packet of the run.
    pub ecn: Ecn,
    /// True if the payload was sent before.
    pub retransmission: bool,
    /// If true, the next poll returns nothing. If false, it may return another run or nothing.
    pub is_last: bool,
    /// The flags AE, CWR and ECE are the ACE field of AccECN (RFC 9768 §3.2.2).
    pub has_ace: bool,
    /// The first segment. Its CWR flag belongs on the first segment only, unless it is part of ACE, its PSH and
    /// FIN flags on the last ([`Run::segments`] sees to that).
    pub first: Segment,
}

impl Run {
    /// A run of one segment, Not-ECT.
    #[inline(always)]
    pub(super) fn bare(first: Segment) -> Run {
        Run { first, count: 1, ..Run::default() }
    }

    /// The segments one by one.
    pub fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        (0..self.count).map(|index| if self.count == 1 { self.first } else { self.segment(index) })
    }

    #[inline(never)]
    fn segment(&self, index: u32) -> Segment {
        let mut segment = self.first;
        self.turn_into(&mut segment, index);
        segment
    }

    /// Turns `segment`, any segment of this run, into number `index`: writes only the fields that
    /// differ.
    pub fn turn_into(&self, segment: &mut Segment, index: u32) {
        segment.seq = self.first.seq.at(u64::from(index) * u64::from(self.first.payload_len));
        segment.flags = self.first.flags;
        // RFC 9768 §3.3.4: every segment of a run keeps the ACE field.
        if index > 0 && !self.has_ace {
            segment.flags -= Flags::CWR;
        }
        if index + 1 < self.count {
            segment.flags -= Flags::PSH | Flags::FIN;
        }
    }
}

/// The part of a segment's payload to store: `len` bytes from `skip` on, which belong at
/// `stream_offset` of the incoming stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Accepted {
    /// Offset in the incoming stream, in bytes (0: the first byte).
    pub stream_offset: u64,
    /// Bytes to leave out at the beginning of the segment's payload.
    pub skip: u32,
    /// Bytes to store; 0 if there is nothing to store.
    pub len: u32,
}
