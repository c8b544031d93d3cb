//! The entries of the tables of connections and of far hosts, as their users see them. bytes.rs knows where
//! each field is.

use super::bytes::{
    ADDRESS_BYTES, FLOW_BYTES, HANDSHAKE_BYTES, HOST_BYTES, MACHINE_BYTES, Reader, ends,
};
use super::counters::REASONS;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FlowState {
    /// The handshake is in progress.
    Handshake,
    /// ECN_PHASE_PROXIED of the state machine: the far host uses ECN, the served host does not, and the
    /// proxy serves the connection.
    Simulated,
    /// One end has sent a FIN.
    Closing,
}

/// The state of the answer to a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AnswerState {
    /// No mark is pending.
    Idle,
    /// A mark is pending; the proxy has not yet signalled the sender.
    Armed,
    /// A virtual loss is open and not yet retransmitted.
    VirtualLoss,
    /// The served host has retransmitted the virtual loss; the far host has not confirmed it.
    Retransmitted,
    /// The proxy dropped a packet that is not yet retransmitted.
    Dropped,
}

/// A connection in the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Flow {
    /// Address and port of the served host.
    pub host: SocketAddr,
    /// Address and port of the far host.
    pub far: SocketAddr,
    /// The state of the connection.
    pub state: FlowState,
    /// The state of the answer to a mark that the far host echoed.
    pub answer: AnswerState,
    /// Time since the handshake; `None` during it.
    pub age: Option<Duration>,
    /// Time since the last packet.
    pub idle: Duration,
    /// Payload of both directions, retransmissions included; 0 during the handshake.
    pub bytes: u64,
    /// Packets of the served host. Here and below a super-packet (GRO, GSO) counts once.
    pub packets_from_host: u64,
    /// Packets for the served host.
    pub packets_to_host: u64,
    /// Packets for the served host that arrived with CE.
    pub marks: u64,
    /// Packets of the served host on which the proxy set ECE.
    pub echoes: u64,
    /// Packets of the served host on which the proxy set ECT(0).
    pub ect: u64,
    /// Episodes: the times that the far host began to echo a mark.
    pub episodes: u64,
    /// Virtual losses opened.
    pub virtual_losses: u64,
    /// The served host's largest segment, in bytes.
    pub segment_bytes: u16,
    /// Why the served host's new data get no ECT, by its name in the list of reasons; `None` if they get it.
    pub withheld: Option<&'static str>,
}

/// Offsets in struct ecn_flow of the machine.
const SEGMENT_BYTES_AT: usize = 80;
const NOTES_AT: usize = 88;
const FIN_NOTES: u16 = 0x1800;
const CANNOT_SIGNAL_NOTE: u16 = 0x0100;
/// Offset in struct handshake.
const MACHINE_AT: usize = 8;
/// Phases of a connection that has begun and not ended: enum ecn_phase from HOST_OPENS to PROXIED.
const PHASES_UNDER_WAY: RangeInclusive<u8> = 1..=3;

struct Machine {
    segment_bytes: u16,
    closing: bool,
    withheld: Option<&'static str>,
    phase: u8,
    answer: AnswerState,
}

impl Machine {
    fn read(bytes: &[u8]) -> Option<Machine> {
        let mut reader = Reader::new(bytes, MACHINE_BYTES)?;
        reader.skip(SEGMENT_BYTES_AT)?;
        let segment_bytes = reader.u16()?;
        reader.skip(NOTES_AT - SEGMENT_BYTES_AT - 2)?;
        let notes = reader.u16()?;
        let (phase, reason) = (reader.u8()?, usize::from(reader.u8()?));
        let cannot_signal = notes & CANNOT_SIGNAL_NOTE != 0;
        // syn_triple, or rounds_since
        reader.skip(1)?;
        // enum ecn_answer
        let answer = match reader.u8()? {
            1 => AnswerState::Armed,
            2 => AnswerState::VirtualLoss,
            3 => AnswerState::Retransmitted,
            4 => AnswerState::Dropped,
            _ => AnswerState::Idle,
        };
        let withheld = REASONS.get(reason).map(|(name, _)| *name).filter(|_| cannot_signal);
        let closing = notes & FIN_NOTES != 0;
        Some(Machine { segment_bytes, closing, withheld, phase, answer })
    }
}

impl Flow {
    /// An entry of the table `flows`.
    pub(super) fn from_entry(key: &[u8], value: &[u8], now_ns: u64) -> Option<Flow> {
        let (host, far) = ends(key)?;
        let since = |then: u64| Duration::from_nanos(now_ns.saturating_sub(then));
        let mut reader = Reader::new(value, FLOW_BYTES)?;
        let (seen, opened) = (reader.u64()?, reader.u64()?);
        let bytes = reader.u64()?;
        let mut number = || reader.u32().map(u64::from);
        let mut flow = Flow {
            host,
            far,
            state: FlowState::Simulated,
            answer: AnswerState::Idle,
            age: Some(since(opened)),
            idle: since(seen),
            bytes,
            packets_from_host: number()?,
            packets_to_host: number()?,
            marks: number()?,
            echoes: number()?,
            ect: number()?,
            episodes: number()?,
            virtual_losses: number()?,
            segment_bytes: 0,
            withheld: None,
        };
        // The lock.
        reader.skip(4)?;
        let machine = Machine::read(&reader.array::<MACHINE_BYTES>()?)?;
        flow.segment_bytes = machine.segment_bytes;
        flow.answer = machine.answer;
        flow.withheld = machine.withheld;
        if machine.closing {
            flow.state = FlowState::Closing;
        }
        Some(flow)
    }

    /// Whether an entry of the table `handshakes` is a connection. The programs also keep there what
    /// they must know of a served connection that was reset, and of one that they leave alone.
    pub(super) fn is_under_way(value: &[u8]) -> Option<bool> {
        let mut reader = Reader::new(value, HANDSHAKE_BYTES)?;
        reader.skip(MACHINE_AT)?;
        let machine = Machine::read(&reader.array::<MACHINE_BYTES>()?)?;
        Some(PHASES_UNDER_WAY.contains(&machine.phase))
    }

    /// An entry of the table `handshakes`.
    pub(super) fn from_handshake(key: &[u8], value: &[u8], now_ns: u64) -> Option<Flow> {
        let (host, far) = ends(key)?;
        let seen = Reader::new(value, HANDSHAKE_BYTES)?.u64()?;
        Some(Flow {
            host,
            far,
            state: FlowState::Handshake,
            answer: AnswerState::Idle,
            age: None,
            idle: Duration::from_nanos(now_ns.saturating_sub(seen)),
            bytes: 0,
            packets_from_host: 0,
            packets_to_host: 0,
            marks: 0,
            echoes: 0,
            ect: 0,
            episodes: 0,
            virtual_losses: 0,
            segment_bytes: 0,
            withheld: None,
        })
    }
}

/// The known ECN support of a far host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HostEcn {
    /// The host has agreed to ECN.
    Capable,
    /// The host has answered without ECN.
    NotCapable,
    /// Three connections in a row were answered only without ECN. The proxy does not request ECN from
    /// the host for a while.
    Unreachable,
    /// One or two were, which may be chance, or ports refused. The proxy still requests ECN.
    Unknown,
}

/// A remembered far host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Host {
    /// Address of the host.
    pub address: IpAddr,
    /// ECN support of the host.
    pub ecn: HostEcn,
    /// Number of connections that showed it.
    pub connections: u64,
    /// Time since the last of them.
    pub seen: Duration,
}

impl Host {
    /// An entry of the table `hosts`.
    pub(super) fn from_entry(key: &[u8], value: &[u8], now_ns: u64) -> Option<Host> {
        let address = Reader::new(key, ADDRESS_BYTES)?.address()?;
        let mut reader = Reader::new(value, HOST_BYTES)?;
        let seen = Duration::from_nanos(now_ns.saturating_sub(reader.u64()?));
        // failed_ns
        reader.skip(8)?;
        // enum host_ecn
        let ecn = match reader.u32()? {
            1 => HostEcn::Capable,
            2 => HostEcn::NotCapable,
            3 => HostEcn::Unreachable,
            _ => HostEcn::Unknown,
        };
        Some(Host { address, ecn, connections: u64::from(reader.u32()?), seen })
    }
}
