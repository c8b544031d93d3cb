//! One burst: the packets that arrived, and when.

use serde::Serialize;

/// One burst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstRun {
    /// Packets for which the receive window was opened.
    pub packets: u32,
    /// Payload of the longest packet, in bytes.
    pub packet_bytes: u32,
    /// Flights that it took to get the server's window so large; 0: the burst is its first flight.
    pub flights_before: u32,
    /// Packets for which the first window was opened.
    pub first_window: u32,
    /// Packets of the first flight.
    pub first_flight: u32,
    /// Packets that arrived.
    pub arrived: u32,
    /// Packets that were lost, as the gaps in the stream show.
    pub lost: u32,
    /// Whether the offset at which the burst ended is known. If false, more may have been lost.
    pub end_known: bool,
    /// Payload that arrived, in bytes.
    pub bytes: u64,
    /// Payload of the packet that arrived first, in bytes.
    pub first_bytes: u32,
    /// From the request or the ACK that opened the window to the first packet, in milliseconds.
    pub rtt_first_ms: f64,
    /// The same to the last packet.
    pub rtt_last_ms: f64,
}
