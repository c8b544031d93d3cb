//! The keys of TCP flows and of UDP sources.

use super::app::AppKeys;
use super::tcp::TcpKeys;
use super::traffic::{ArrivalsKeys, MediaKeys, SizesKeys};
use crate::units::PacketBytes;
use windlass_base::{BitRate, Span};
use windlass_keys::{Located, Name, Positive, keys, words};

keys! {
    /// A TCP flow, or several of the same kind.
    struct FlowKeys {
        /// Its name in results. Default: flow1, flow2, ... by position.
        name: Option<Located<Name>>,
        /// The sending host; "each": one flow from every sender of the shorthand.
        from: Located<String>,
        /// The receiving host. Default with a shorthand: the host at the other end.
        to: Option<Located<String>>,
        /// Number of flows, which are named NAME.1, NAME.2, ... Default: 1.
        count: Option<Located<Positive>>,
        /// When the application starts. Default: 0s.
        start: Option<Located<Span>>,
        /// With `count` or "each": delay of each flow's start after the one before. Default: 0s.
        start_step: Option<Span>,
        /// When the application stops writing. Default: never.
        stop: Option<Located<Span>>,
        /// Amount and timing of the data that the application writes. Default: bulk.
        app: Option<Located<AppKeys>>,
        #flatten tcp: TcpKeys,
    }
}

keys! {
    /// A UDP source: a constant bit rate (`packet_bytes`, `rate`), packets that are drawn (`arrivals`,
    /// `sizes`), or real-time media (`media`).
    struct UdpKeys {
        /// Its name in results. Default: udp1, udp2, ... by position.
        name: Option<Located<Name>>,
        /// The sending host.
        from: Located<String>,
        /// The receiving host. Default with a shorthand: the host at the other end.
        to: Option<Located<String>>,
        /// Size of a packet, IP and UDP headers included.
        packet_bytes: Option<Located<PacketBytes>>,
        /// The ECN codepoint of its packets. The source does not react to marks. Default: not-ect.
        ecn: Option<CodepointKeys>,
        /// Rate while it is on.
        rate: Option<Located<BitRate>>,
        /// When it starts. Default: 0s.
        start: Option<Located<Span>>,
        /// When it stops. Default: never.
        stop: Option<Located<Span>>,
        /// Bursts. Default: always on.
        on_off: Option<Located<OnOffKeys>>,
        /// When packets come, in place of a constant rate.
        arrivals: Option<Located<ArrivalsKeys>>,
        /// With `arrivals`: sizes of packets, IP and UDP headers included. Those below 28 bytes are
        /// raised to it, and those above 65535 cut.
        sizes: Option<Located<SizesKeys>>,
        /// Frames with deadlines, in place of a constant rate.
        media: Option<Located<MediaKeys>>,
    }
}

words! {
    /// A codepoint that a sender may set (RFC 3168 section 5; CE is the queues').
    enum CodepointKeys as "an ECN codepoint" {
        /// Not ECN-capable: queues drop.
        NotEct = "not-ect",
        /// ECT(0), as TCP with classic ECN sends it.
        Ect0 = "ect0",
        /// ECT(1), as L4S senders send it (RFC 9331).
        Ect1 = "ect1",
    }
}

keys! {
    /// On and off times of a source.
    struct OnOffKeys {
        /// Time on.
        on: Span,
        /// Time off.
        off: Span,
        /// Draw both from exponential distributions with these means. Default: false.
        exponential: Option<bool>,
    }
}
