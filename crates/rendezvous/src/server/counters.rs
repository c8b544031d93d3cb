//! Counters of the server, which the daemon shows as metrics.

/// Counts since the start, and the sizes of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Messages received.
    pub received: u64,
    /// Messages sent to hosts, without relayed datagrams.
    pub sent: u64,
    /// Messages of no supported protocol.
    pub malformed: u64,
    /// Answers not sent, because an unverified address would get more bytes than it had sent.
    pub withheld: u64,
    /// Requests refused.
    pub refused: u64,
    /// Binding requests (RFC 8489) answered.
    pub bindings: u64,
    /// Registrations accepted.
    pub registered: u64,
    /// Keep-alives accepted.
    pub kept: u64,
    /// Offers forwarded, repetitions included.
    pub introduced: u64,
    /// Bytes relayed, both ways.
    pub relayed_bytes: u64,
    /// Datagrams that the relay dropped: without a permission or an allocation, or above the rate.
    pub relay_dropped: u64,
    /// Keys registered now.
    pub registrations: u64,
    /// Introductions under way now.
    pub introductions: u64,
    /// Relayed addresses in use now.
    pub allocations: u64,
}
