use super::raw::Raw;
use super::{EngineServer, Server, page, says};
use crate::wire::{self, Flow, Received};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use windlass_base::Span;
use windlass_tcp::cc::Reno;
use windlass_tcp::config::Growth;
use windlass_tcp::{Config, Flags, Options, Profile, Segment, SeqNumber};

/// How a server reacts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stack {
    /// Counts ACKs (RFC 2581).
    #[serde(rename = "rfc2581")]
    Rfc2581,
    /// Counts bytes, at most one segment an ACK (RFC 3465, L = 1).
    #[serde(rename = "rfc3465-1")]
    Rfc3465L1,
    /// Counts bytes, at most two segments an ACK (RFC 3465, L = 2).
    #[serde(rename = "rfc3465-2")]
    Rfc3465L2,
    /// Counts bytes, without a limit.
    #[serde(rename = "linux")]
    Linux,
    /// As Normann 2011 saw a Windows Server 2003 SP1: counts ACKs, and has [`WINDOWS_2003_FLIGHT`] segments
    /// in flight at most. Twice the packets at a split of 4, three times at 8 and more.
    #[serde(rename = "windows-2003")]
    Windows2003,
    /// As Normann 2011 saw a FreeBSD 7.0: as many packets whatever the split, but smaller ones and so fewer
    /// bytes, and more of them are sent again. It counts ACKs, but has [`FREEBSD_7_PACKETS`] packets in
    /// flight at most; it takes an ACK that ends inside a segment for the sign that the path carries no
    /// more, sends packets no longer than what the last ACK acknowledged, and the rest of that segment
    /// again.
    #[serde(rename = "freebsd-7")]
    FreeBsd7,
    /// Does not answer.
    #[serde(rename = "silent")]
    Silent,
    /// A reset for every SYN.
    #[serde(rename = "refuse")]
    Refuse,
    /// A reset for every request.
    #[serde(rename = "reset")]
    Reset,
}

/// Segments that [`Stack::Windows2003`] has in flight at most.
pub const WINDOWS_2003_FLIGHT: u64 = 24;
/// Packets that [`Stack::FreeBsd7`] has in flight at most, or twice its initial window if that is more.
pub const FREEBSD_7_PACKETS: u32 = 6;

const SEND_BUFFER: u64 = 256 << 10;
const RECEIVE_BUFFER: u64 = 64 << 10;

impl Stack {
    /// Every stack.
    pub const ALL: [Stack; 9] = [
        Stack::Rfc2581,
        Stack::Rfc3465L1,
        Stack::Rfc3465L2,
        Stack::Linux,
        Stack::Windows2003,
        Stack::FreeBsd7,
        Stack::Silent,
        Stack::Refuse,
        Stack::Reset,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stack::Rfc2581 => "rfc2581",
            Stack::Rfc3465L1 => "rfc3465-1",
            Stack::Rfc3465L2 => "rfc3465-2",
            Stack::Linux => "linux",
            Stack::Windows2003 => "windows-2003",
            Stack::FreeBsd7 => "freebsd-7",
            Stack::Silent => "silent",
            Stack::Refuse => "refuse",
            Stack::Reset => "reset",
        }
    }

    /// The stack of that name.
    pub fn by_name(name: &str) -> Option<Stack> {
        Stack::ALL.into_iter().find(|stack| stack.name() == name)
    }

    /// What a survey is to call its reaction; none for those that do not answer.
    pub fn reaction(self) -> Option<&'static str> {
        match self {
            Stack::Rfc2581 | Stack::Windows2003 => Some("counts-acks"),
            Stack::Rfc3465L1 | Stack::Rfc3465L2 | Stack::Linux => Some("counts-bytes"),
            Stack::FreeBsd7 => Some("negative"),
            Stack::Silent | Stack::Refuse | Stack::Reset => None,
        }
    }

    /// A server with an initial window of so many segments of `mss` bytes, and a page; none if silent.
    pub(super) fn server(
        self,
        initial_window: u32,
        mss: u16,
        page_bytes: usize,
    ) -> Option<Box<dyn Server>> {
        let engine = || EngineServer::new(self.config(initial_window, mss), says(page(page_bytes)));
        Some(match self {
            Stack::Silent => return None,
            Stack::Refuse => Box::new(Raw::new(refuse)),
            Stack::Reset => Box::new(Raw::new(reset)),
            Stack::FreeBsd7 => {
                let packets_max = FREEBSD_7_PACKETS.max(initial_window.saturating_mul(2));
                Box::new(engine().taking_acks_for_sizes(packets_max as usize))
            }
            _ => Box::new(engine()),
        })
    }

    fn config(self, initial_window: u32, mss: u16) -> Config {
        let profile = match self {
            Stack::Rfc3465L1 | Stack::Rfc3465L2 => Profile::Rfc3465,
            Stack::Linux => Profile::Linux,
            _ => Profile::Rfc2581,
        };
        let config = profile.config(mss, Arc::new(Reno));
        let segments = |count: u64| count * u64::from(mss);
        config.with(|c| {
            c.window.initial = initial_window;
            c.sending.nagle = false;
            c.growth.credit = match self {
                Stack::Rfc3465L1 => Growth::PerByte { limit: 1 },
                Stack::Rfc3465L2 => Growth::PerByte { limit: 2 },
                _ => c.growth.credit,
            };
            c.window.limit = (self == Stack::Windows2003).then(|| segments(WINDOWS_2003_FLIGHT));
            c.buffers.send = SEND_BUFFER;
            c.buffers.receive = RECEIVE_BUFFER;
        })
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn refuse(flow: &Flow, received: &Received<'_>) -> Vec<(Span, Vec<u8>)> {
    received.segment.reset_reply().map(|reset| now(flow, &reset)).into_iter().collect()
}

fn reset(flow: &Flow, received: &Received<'_>) -> Vec<(Span, Vec<u8>)> {
    let sent = &received.segment;
    if !sent.flags.contains(Flags::SYN) {
        let some = received.payload.first().and(sent.reset_reply());
        return some.map(|reset| now(flow, &reset)).into_iter().collect();
    }
    let answer = Segment {
        seq: SeqNumber(7),
        ack: sent.seq.at(1),
        flags: Flags::SYN | Flags::ACK,
        window: 60_000,
        options: Options { mss: Some(1460), ..Options::default() },
        ..Segment::default()
    };
    vec![now(flow, &answer)]
}

fn now(flow: &Flow, segment: &Segment) -> (Span, Vec<u8>) {
    let mut packet = Vec::new();
    wire::emit(flow, segment, &[], 0, &mut packet);
    (Span::ZERO, packet)
}
