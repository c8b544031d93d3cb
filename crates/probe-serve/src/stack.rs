//! TCP stacks by the growth of their window in slow start, each a configuration of the engine.

use crate::answer::Answer;
use crate::engine::EngineServer;
use crate::page::says;
use crate::raw::Raw;
use crate::server::Server;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use windlass_base::Span;
use windlass_probe::wire::{self, Flow, Received};
use windlass_tcp::cc::Reno;
use windlass_tcp::config::Growth;
use windlass_tcp::{Config, Flags, Options, Profile, Segment, SeqNumber};

/// The TCP stack of a simulated server.
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
    /// A Windows Server 2003 SP1 as Normann 2011 observed it. Counts ACKs, and has at most
    /// 24 segments in flight. A split of 4 gains twice the packets, 8 and more three
    /// times.
    #[serde(rename = "windows-2003")]
    Windows2003,
    /// A FreeBSD 7.0 as Normann 2011 observed it: the number of packets does not depend on the split, but
    /// the packets are smaller and more of them are retransmissions. The model counts ACKs and has at most
    /// 6 packets in flight, or twice its initial window if that is more. It treats an ACK that ends inside a segment as a sign of a
    /// smaller path MTU: it retransmits the rest of that segment, and sends packets no longer than the
    /// bytes that the last ACK acknowledged.
    #[serde(rename = "freebsd-7")]
    FreeBsd7,
    /// Answers no packet.
    #[serde(rename = "silent")]
    Silent,
    /// Answers every SYN with a reset.
    #[serde(rename = "refuse")]
    Refuse,
    /// Answers every request with a reset.
    #[serde(rename = "reset")]
    Reset,
}

/// Segments that [`Stack::Windows2003`] has in flight at most.
const WINDOWS_2003_FLIGHT: u64 = 24;
/// Packets that [`Stack::FreeBsd7`] has in flight at most, or twice its initial window if that is more.
const FREEBSD_7_PACKETS: u32 = 6;

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

    /// The reaction that a survey should report; `None` for hosts that do not answer.
    pub fn reaction(self) -> Option<&'static str> {
        match self {
            Stack::Rfc2581 | Stack::Windows2003 => Some("counts-acks"),
            Stack::Rfc3465L1 | Stack::Rfc3465L2 | Stack::Linux => Some("counts-bytes"),
            Stack::FreeBsd7 => Some("negative"),
            Stack::Silent | Stack::Refuse | Stack::Reset => None,
        }
    }

    /// A server with this initial window, in segments of `mss` bytes, and this page; `None` if silent. `change` sets
    /// further options of its engine, whose controller is Reno.
    pub(crate) fn server(
        self,
        initial_window: u32,
        mss: u16,
        page_bytes: usize,
        change: impl FnOnce(&mut Config),
    ) -> Option<Box<dyn Server>> {
        let engine = || {
            let config = self.config(initial_window, mss).with(change);
            EngineServer::new(config, says(Answer::page(page_bytes)))
        };
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
