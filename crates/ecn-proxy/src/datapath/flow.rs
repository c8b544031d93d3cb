use super::bytes::{Reader, ends};
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlowState {
    /// In its handshake.
    Handshake,
    /// The far host speaks ECN, the served host does not: the proxy stands between.
    Simulated,
    /// One end has sent a FIN.
    Closing,
}

/// How far the answer to a mark has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnswerState {
    /// No mark waits.
    Idle,
    /// A mark waits for the moment to tell the sender.
    Armed,
    /// A virtual loss is open; the served host has not sent it again yet.
    VirtualLoss,
    /// The virtual loss was sent again and is not acknowledged yet.
    Retransmitted,
    /// A packet was dropped and not sent again yet.
    Dropped,
}

/// A connection in the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Flow {
    /// The served host's end.
    pub host: SocketAddr,
    /// The far end.
    pub far: SocketAddr,
    /// Where it stands.
    pub state: FlowState,
    /// The answer to a mark that the far host told of.
    pub answer: AnswerState,
    /// Since its handshake; `None` during it.
    pub age: Option<Duration>,
    /// Since its last packet.
    pub idle: Duration,
    /// Packets of the served host, super-packets (GRO, GSO) as one, as all counts here.
    pub packets_from_host: u64,
    /// Packets for the served host.
    pub packets_to_host: u64,
    /// Packets for the served host that came with CE.
    pub marks: u64,
    /// Packets of the served host that got ECE.
    pub echoes: u64,
    /// Packets of the served host that got ECT(0).
    pub ect: u64,
    /// Times that the far host told of a mark.
    pub episodes: u64,
    /// Virtual losses.
    pub virtual_losses: u64,
    /// The served host's largest segment, in bytes.
    pub segment_bytes: u16,
}

/// Offsets in struct ecn_flow of the machine.
const SEGMENT_BYTES_AT: usize = 80;
const NOTES_AT: usize = 88;
const FIN_NOTES: u16 = 0x1800;

struct Machine {
    segment_bytes: u16,
    closing: bool,
    answer: AnswerState,
}

impl Machine {
    fn read(bytes: &[u8]) -> Option<Machine> {
        let mut reader = Reader(bytes);
        reader.skip(SEGMENT_BYTES_AT)?;
        let segment_bytes = reader.u16()?;
        reader.skip(NOTES_AT - SEGMENT_BYTES_AT - 2)?;
        let closing = reader.u16()? & FIN_NOTES != 0;
        // phase, reason, asked
        reader.skip(3)?;
        let answer = match reader.u8()? {
            1 => AnswerState::Armed,
            2 => AnswerState::VirtualLoss,
            3 => AnswerState::Retransmitted,
            4 => AnswerState::Dropped,
            _ => AnswerState::Idle,
        };
        Some(Machine { segment_bytes, closing, answer })
    }
}

impl Flow {
    /// An entry of the table `flows`.
    pub(super) fn from_entry(key: &[u8], value: &[u8], now_ns: u64) -> Option<Flow> {
        let (host, far) = ends(key)?;
        let since = |then: u64| Duration::from_nanos(now_ns.saturating_sub(then));
        let mut reader = Reader(value);
        let (seen, opened) = (reader.u64()?, reader.u64()?);
        let mut number = || reader.u32().map(u64::from);
        let mut flow = Flow {
            host,
            far,
            state: FlowState::Simulated,
            answer: AnswerState::Idle,
            age: Some(since(opened)),
            idle: since(seen),
            packets_from_host: number()?,
            packets_to_host: number()?,
            marks: number()?,
            echoes: number()?,
            ect: number()?,
            episodes: number()?,
            virtual_losses: number()?,
            segment_bytes: 0,
        };
        // The lock.
        reader.skip(4)?;
        let machine = Machine::read(reader.0)?;
        flow.segment_bytes = machine.segment_bytes;
        flow.answer = machine.answer;
        if machine.closing {
            flow.state = FlowState::Closing;
        }
        Some(flow)
    }

    /// An entry of the table `handshakes`.
    pub(super) fn from_handshake(key: &[u8], value: &[u8], now_ns: u64) -> Option<Flow> {
        let (host, far) = ends(key)?;
        let seen = Reader(value).u64()?;
        Some(Flow {
            host,
            far,
            state: FlowState::Handshake,
            answer: AnswerState::Idle,
            age: None,
            idle: Duration::from_nanos(now_ns.saturating_sub(seen)),
            packets_from_host: 0,
            packets_to_host: 0,
            marks: 0,
            echoes: 0,
            ect: 0,
            episodes: 0,
            virtual_losses: 0,
            segment_bytes: 0,
        })
    }
}

/// What is known of a far host's ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HostEcn {
    /// It has agreed to ECN.
    Capable,
    /// It has answered, without ECN.
    NotCapable,
    /// It, or the path to it, did not answer SYNs that ask for ECN, three connections in a row: it is
    /// not asked for a while.
    Unreachable,
    /// The same once or twice, which may be chance: it is asked on.
    Unknown,
}

/// What is known of a far host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Host {
    /// Its address.
    pub address: IpAddr,
    /// Its ECN.
    pub ecn: HostEcn,
    /// Connections by which that was learnt.
    pub connections: u64,
    /// Since the last of them.
    pub seen: Duration,
}

impl Host {
    /// An entry of the table `hosts`.
    pub(super) fn from_entry(key: &[u8], value: &[u8], now_ns: u64) -> Option<Host> {
        let address = Reader(key).address()?;
        let mut reader = Reader(value);
        let seen = Duration::from_nanos(now_ns.saturating_sub(reader.u64()?));
        reader.skip(8)?;
        let ecn = match reader.u32()? {
            1 => HostEcn::Capable,
            2 => HostEcn::NotCapable,
            3 => HostEcn::Unreachable,
            _ => HostEcn::Unknown,
        };
        Some(Host { address, ecn, connections: u64::from(reader.u32()?), seen })
    }
}
