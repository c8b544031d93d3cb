//! TCP segments as plain values, and their wire format.

mod accecn;
mod error;
mod flags;
pub mod ip;
mod options;
pub mod wire;

pub use accecn::{AccEcnOption, AccEcnOrder};
pub use flags::Flags;
pub use options::{Options, SackBlocks, Timestamps};

use crate::SeqNumber;

/// A TCP segment without ports, checksum and payload bytes.
///
/// Ports and checksum belong to the carrier; payload is counted here and stored outside.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
// The fields that every segment uses come first, to share a cache line with a carrier's own header.
#[repr(C)]
pub struct Segment {
    /// The first sequence number that the segment occupies (SYN and FIN occupy one each).
    pub seq: SeqNumber,
    /// The next sequence number expected; meaningful if [`Flags::ACK`] is set.
    pub ack: SeqNumber,
    /// Payload in bytes. More than an MSS where a carrier coalesced segments (GRO).
    pub payload_len: u32,
    /// The receive window as on the wire, before scaling (RFC 7323 §2).
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// The options in the header (RFC 9293 §3.2, RFC 7323, RFC 2018).
    pub options: Options,
}

impl Segment {
    /// The length in sequence space: payload, SYN and FIN (RFC 9293 §3.4, SEG.LEN).
    pub fn sequence_len(&self) -> u32 {
        let control =
            self.flags.contains(Flags::SYN) as u32 + self.flags.contains(Flags::FIN) as u32;
        self.payload_len.saturating_add(control)
    }

    /// Header and payload in bytes, without the IP header.
    pub fn wire_bytes(&self) -> u32 {
        wire::MIN_HEADER_LEN as u32 + self.options.wire_len() as u32 + self.payload_len
    }

    /// True if the segment asks for a new connection (RFC 9293 §3.10.7.2).
    pub fn opens(&self) -> bool {
        self.flags & (Flags::SYN | Flags::ACK | Flags::RST) == Flags::SYN
    }

    /// True if a listener may accept this segment in place of a connection in TIME-WAIT. It must be a SYN with a
    /// sequence number above `received`, which follows all that the old connection has received, or with a later
    /// timestamp than `newest`, the last one received (RFC 9293 §3.6.1, RFC 6191).
    pub fn reopens(&self, received: SeqNumber, newest: Option<u32>) -> bool {
        let later = match (newest, self.options.timestamps) {
            (Some(newest), Some(timestamps)) => (timestamps.value.wrapping_sub(newest) as i32) > 0,
            _ => false,
        };
        self.opens() && (received.is_before(self.seq) || later)
    }

    /// The reset that answers this segment where no connection takes it (RFC 9293 §3.10.7.1);
    /// `None` for a segment that is a reset itself.
    pub fn reset_reply(&self) -> Option<Segment> {
        if self.flags.contains(Flags::RST) {
            return None;
        }
        Some(if self.flags.contains(Flags::ACK) {
            Segment { seq: self.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            Segment {
                ack: self.seq.at(u64::from(self.sequence_len())),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            }
        })
    }
}
