//! The report of a connection.

use super::growth::Growth;
use super::scout::ENOUGH_BYTES;
use super::{Probe, Purpose};
use crate::arrivals::Arrivals;
use crate::cca::Trace;
use crate::dialogue::Dialogue;
use crate::ecn::{Endpoint, Trial};
use crate::http::Head;
use crate::test::Test;
use serde::Serialize;
use std::fmt;

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// The ACKs were sent, and what came was counted.
    Measured,
    /// A scout has read the head of the answer, or seen that it is no HTTP. With other dialogues: it has heard
    /// enough, or the way to the measured connection is open.
    HeadRead,
    /// Nothing answered the SYN.
    Silent,
    /// A reset answered the SYN.
    Refused,
    /// A router or the host answered by ICMP. Without a code: this machine has no route.
    Unreachable {
        /// RFC 792, RFC 4443 §3.1.
        icmp_code: Option<u8>,
    },
    /// The path's round-trip time is too long for the script.
    TooFar,
    /// Connected, but no answer came.
    NoAnswer,
    /// Connected, but the server's window stayed closed: it took no request.
    ZeroWindow,
    /// The server reset the connection before it was measured.
    Reset,
    /// The answer ended before a window did: there was nothing left to send for more ACKs.
    TooShort,
    /// A packet was lost before the burst, or none came: the server's window could not grow for it.
    LostBefore,
    /// The server's window did not grow to the burst.
    NotReached,
    /// The TLS handshake failed.
    TlsFailed {
        /// In the TLS library's words.
        why: String,
    },
    /// The server sent more packets than the probe keeps.
    TooMuch,
    /// The server did not answer as its protocol wants, or refused.
    DialogueFailed {
        /// In words for the user.
        why: String,
    },
}

impl Ending {
    /// Its name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Ending::Measured => "measured",
            Ending::HeadRead => "head-read",
            Ending::Silent => "silent",
            Ending::Refused => "refused",
            Ending::Unreachable { .. } => "unreachable",
            Ending::TooFar => "too-far",
            Ending::NoAnswer => "no-answer",
            Ending::ZeroWindow => "zero-window",
            Ending::Reset => "reset",
            Ending::TooShort => "too-short",
            Ending::LostBefore => "lost-before",
            Ending::NotReached => "not-reached",
            Ending::TlsFailed { .. } => "tls-failed",
            Ending::TooMuch => "too-much",
            Ending::DialogueFailed { .. } => "dialogue-failed",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Measured => "measured",
            Ending::HeadRead => "answered",
            Ending::Silent => "silent: nothing answers the SYN",
            Ending::Refused => "refused: a reset answers the SYN",
            Ending::Unreachable { icmp_code: None } => "unreachable: no route from here",
            Ending::Unreachable { icmp_code: Some(code) } => {
                return write!(f, "unreachable: ICMP says so (code {code})");
            }
            Ending::TooFar => "too far: the round-trip time exceeds what the probe can hide",
            Ending::NoAnswer => "no answer: connected, but no data comes",
            Ending::ZeroWindow => "zero window: connected, but the server takes no request",
            Ending::Reset => "reset by the server",
            Ending::TooShort => "answer too short: it ends before the server has to wait for ACKs",
            Ending::LostBefore => "a packet was lost while the window grew",
            Ending::NotReached => "the server's window did not grow so far",
            Ending::TlsFailed { why } => return write!(f, "TLS failed: {why}"),
            Ending::DialogueFailed { why } => return write!(f, "the dialogue failed: {why}"),
            Ending::TooMuch => "flooded: more packets than any stack sends",
        })
    }
}

/// The fields of the SYN-ACK.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SynAck {
    /// The MSS announced, in bytes.
    pub mss: Option<u16>,
    /// The window field.
    pub window: u16,
    /// The shift offered.
    pub window_scale: Option<u8>,
    /// Its TTL or hop limit on arrival.
    pub hop_limit: u8,
    /// SYNs sent until it arrived. After more than one the RTT is not known, and the server may begin with a
    /// window of one segment (RFC 5681 §3.1).
    pub syns: u32,
}

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
    pub(super) fn of(arrivals: &Arrivals, from: u64) -> Flight {
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
    pub fn sent_bytes(&self) -> u64 {
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
    pub fn flight_after(&self) -> u32 {
        (self.packets_before + self.grown).saturating_sub(self.acked.len() as u32)
    }

    /// The new packets are more than their bytes need.
    pub fn grew_in_short_packets(&self) -> bool {
        u64::from(self.grown) > self.grown_bytes.div_ceil(u64::from(self.mss_seen.max(1)))
    }
}

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

/// The result of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// The fields of the SYN-ACK, if one arrived.
    pub syn_ack: Option<SynAck>,
    /// From the SYN to the SYN-ACK, in milliseconds, if no SYN was sent twice.
    pub rtt_ms: Option<f64>,
    /// The head of the answer, if it is complete.
    pub head: Option<Head>,
    /// The beginning of the answer is no HTTP.
    pub not_http: bool,
    /// The counts, if a flight arrived.
    pub observation: Option<Observation>,
    /// The packets that the server was to send at once, if that was the purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_asked: Option<u32>,
    /// The burst, if one arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<BurstRun>,
    /// The trace of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The answers in a dialogue other than HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Heard>,
    /// ECN, if the SYN asked for it and was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Trial>,
}

/// The answers of a server in a dialogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Heard {
    /// All new data of the connection, in bytes, with what preceded the answer and with TLS.
    pub bytes: u64,
    /// Of a scout: it is all that the server sends.
    pub whole: bool,
    /// The server's greeting.
    pub server: Option<String>,
    /// The port of the connection to measure, if this one opens the way to it.
    pub opened_port: Option<u16>,
}

impl Report {
    /// Whether the connection has opened the way for the measured one.
    pub fn opens_way(&self) -> bool {
        self.heard.as_ref().is_some_and(|heard| heard.opened_port.is_some())
    }
}

impl Probe {
    pub(super) fn make_report(&self, ending: Ending, growth: Option<Growth>) -> Report {
        let observation = match self.order.purpose {
            Purpose::Measure(test) => self.observation(test, growth),
            _ => None,
        };
        let talk = self.application.talk();
        Report {
            ending,
            syn_ack: self.syn_ack,
            rtt_ms: self.rtt.map(|rtt| rtt.as_millis_f64()),
            head: talk.head.clone(),
            not_http: talk.not_http,
            observation,
            trace: None,
            heard: (!self.is_web()).then(|| Heard {
                bytes: self.arrivals.end(),
                whole: self.arrivals.end() < ENOUGH_BYTES,
                server: talk.server.clone(),
                opened_port: talk.opened,
            }),
            packets_asked: match self.order.purpose {
                Purpose::Burst(order) => Some(order.packets),
                _ => None,
            },
            burst: self.burst.clone(),
            ecn: self.ecn.as_ref().and_then(Endpoint::trial).cloned(),
        }
    }

    fn observation(&self, test: Test, growth: Option<Growth>) -> Option<Observation> {
        let (from, first_flight) = self.first_flight?;
        let arrivals = &self.arrivals;
        let all = arrivals.tally(0, arrivals.end());
        let grown = growth.as_ref().map(|growth| growth.grown(arrivals)).unwrap_or_default();
        let flight = growth.as_ref().map_or(first_flight, |growth| growth.flight);
        let mss_seen = arrivals.longest();
        let window = self.gate.window();
        let ended = growth.as_ref().map_or(0, |growth| self.missing_after(growth.from()));
        let fills = flight.sent_bytes() + ended;
        Some(Observation {
            test,
            window,
            mss_seen,
            mss_offered: self.order.mss,
            first_flight,
            missing_after_flight: self.missing_after(from + first_flight.sent_bytes()),
            flight,
            acked: growth.as_ref().map(|growth| lens(&growth.acked)).unwrap_or_default(),
            acks_sent: growth.as_ref().map_or(0, |growth| growth.acks_sent),
            packets_before: growth.as_ref().map_or(first_flight.sent(), Growth::packets_before),
            grown: grown.packets + grown.missing,
            grown_bytes: grown.bytes + grown.missing_bytes,
            data_packets: all.packets,
            data_bytes: all.bytes,
            retransmissions: arrivals.retransmissions,
            reordered: arrivals.reordered,
            duplicated: arrivals.duplicated,
            beyond_window: self.beyond_window,
            damaged: self.damaged,
            timeout_before_acks: growth
                .as_ref()
                .is_some_and(|growth| growth.retransmissions_before > 0),
            fills_window: fills + u64::from(mss_seen) > u64::from(window),
            answer_ended: self.answer_has_ended(),
            exchanged: (!self.is_web() || self.acked_before > 0).then(|| Exchanged {
                acked_segments: if self.secures_first() { 0 } else { self.acked_before },
                window_ended_flight: grown.bytes + grown.missing_bytes >= u64::from(mss_seen),
            }),
        })
    }

    /// Bytes missing between the offset, at which a flight seemed to end, and the next packet.
    fn missing_after(&self, end: u64) -> u64 {
        self.arrivals.first_from(end, self.reordering()).map_or(0, |start| start - end)
    }

    pub(super) fn is_web(&self) -> bool {
        matches!(self.order.dialogue, Dialogue::Http { .. })
    }
}

/// The lengths of the segments with these ends.
fn lens(ends: &[u64]) -> Vec<u32> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, end)| (end - start) as u32).collect()
}
