//! One run of one test: the packets that were counted.

use super::order::Test;
use crate::topic::channel::Arrivals;
use serde::Serialize;

/// Packets sent without an ACK in between.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Flight {
    /// Packets that arrived.
    pub packets: u32,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Estimate of the packets missing in holes.
    pub missing: u32,
    /// Bytes missing in holes.
    pub missing_bytes: u64,
    /// Packets shorter than the longest, the last of the flight not counted.
    pub short_packets: u32,
}

impl Flight {
    /// The flight of all data that has arrived from offset `from` on.
    pub(crate) fn of(arrivals: &Arrivals, from: u64) -> Flight {
        let tally = arrivals.tally(from, arrivals.end());
        let longest = arrivals.longest();
        let short = arrivals.packets().iter().filter(|packet| {
            packet.start >= from && packet.end() < arrivals.end() && packet.len < longest
        });
        Flight {
            packets: tally.packets,
            bytes: tally.bytes,
            missing: tally.missing,
            missing_bytes: tally.missing_bytes,
            short_packets: short.count() as u32,
        }
    }

    /// Packets that the server sent: a lower bound, as loss at the end leaves no hole.
    pub fn sent(&self) -> u32 {
        self.packets + self.missing
    }

    /// Bytes that the server sent: a lower bound likewise.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.bytes + self.missing_bytes
    }
}

/// One run of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observation {
    /// The test that was run.
    pub test: Test,
    /// The receive window that every ACK offered, in bytes.
    pub window: u32,
    /// Payload of the longest packet: the MSS as seen.
    pub mss_seen: u32,
    /// The MSS that the probe announced.
    pub mss_offered: u16,
    /// The first flight of the connection: the initial window, unless the application had no more.
    pub first_flight: Flight,
    /// Bytes missing between the first flight and the packet after it: loss at the end of this flight or at
    /// the beginning of the next one. The flight may have been so much longer.
    pub missing_after_flight: u64,
    /// The flight that the ACKs were for: the same one, but with TLS possibly a later one.
    pub flight: Flight,
    /// The bytes of each segment that was acknowledged.
    pub acked: Vec<u32>,
    /// The number of ACKs for these segments.
    pub acks_sent: u32,
    /// Packets sent before these ACKs, holes among them included.
    pub packets_before: u32,
    /// New packets that these ACKs brought, holes among them included.
    pub grown: u32,
    /// Their bytes.
    pub grown_bytes: u64,
    /// All packets with new data, from the beginning to the end.
    pub data_packets: u32,
    /// All new data, in bytes.
    pub data_bytes: u64,
    /// Packets with nothing new, or sent again into a hole.
    pub retransmissions: u32,
    /// Packets overtaken by later ones.
    pub reordered: u32,
    /// Copies that the path made: each came sooner after its packet than an answer of the server could.
    pub duplicated: u32,
    /// Packets beyond the receive window; no other field counts them.
    pub beyond_window: u32,
    /// Packets with a wrong checksum or malformed options; no other field counts them.
    pub damaged: u32,
    /// The server's retransmission timer expired before the ACKs; the packets after it are no slow start.
    pub timeout_before_acks: bool,
    /// The flight filled the receive window.
    pub fills_window: bool,
    /// The answer ended before the time did, so it may have been too short.
    pub answer_ended: bool,
    /// The exchange before the flight, with other dialogues than HTTP, and with interim answers of
    /// HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanged: Option<Exchanged>,
}

/// The exchange before the measured flight of a dialogue, and how the flight ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchanged {
    /// The segments that were acknowledged before the first flight of the report. Each may have added one to
    /// the initial window. With TLS before the dialogue: none.
    pub acked_segments: u32,
    /// The ACKs alone brought at least a segment of full size. Without that the server may have held back the
    /// short end of its answer (Nagle's algorithm), with room left in the window.
    pub window_ended_flight: bool,
}

impl Observation {
    /// Packets in flight once the ACKs were answered.
    pub(crate) fn flight_after(&self) -> u32 {
        (self.packets_before + self.grown).saturating_sub(self.acked.len() as u32)
    }

    /// The new packets are more than their bytes need.
    pub(crate) fn grew_in_short_packets(&self) -> bool {
        u64::from(self.grown) > self.grown_bytes.div_ceil(u64::from(self.mss_seen.max(1)))
    }
}
