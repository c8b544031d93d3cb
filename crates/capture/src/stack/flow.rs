//! One connection of the command.

use super::tcp_names::TcpNames;
use crate::packet::Ends;
use windlass_base::{Span, Time};
use windlass_tcp::Segment;
use windlass_tcp::stream::Stream;

/// A connection that is not accepted or refused within this time is forgotten: by then the command
/// sends no SYN any more (Linux gives up after 127 s).
const OPENING_MAX: Span = Span::from_secs(130);

/// A connection of a stack. No other connection of the same stack ever has the same.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId {
    pub(crate) index: u32,
    pub(crate) serial: u32,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) ends: Ends,
    /// Set by the table.
    pub(super) serial: u32,
    pub(super) phase: Phase,
    pub(super) role: Role,
    /// The driver needs it no longer: it may be forgotten once it has ended.
    pub(super) released: bool,
    /// It is in the queue of flows that may have segments to send.
    pub(super) queued: bool,
    /// An event says that it is active.
    pub(super) active: bool,
    /// Its buffers may not grow.
    pub(super) held: bool,
    /// The timer that the table holds for it.
    pub(super) timer: Option<Time>,
    /// Its part of the table's memory.
    pub(super) entered_memory: u64,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// The SYN has arrived and has no answer yet.
    Opening {
        syn: Segment,
        /// The beginning of its packet, for an ICMP error.
        packet: Vec<u8>,
        since: Time,
    },
    Open(Box<Stream>),
}

#[derive(Debug)]
pub(super) enum Role {
    /// The driver carries its bytes.
    Carried,
    /// It carries DNS queries to the forwarder.
    Names(TcpNames),
}

impl Flow {
    pub(super) fn new(ends: Ends, phase: Phase, role: Role) -> Flow {
        Flow {
            ends,
            serial: 0,
            phase,
            released: matches!(role, Role::Names(_)),
            role,
            queued: false,
            active: false,
            held: false,
            timer: None,
            entered_memory: 0,
        }
    }

    pub(super) fn id(&self, index: u32) -> FlowId {
        FlowId { index, serial: self.serial }
    }

    pub(super) fn stream(&mut self) -> Option<&mut Stream> {
        match &mut self.phase {
            Phase::Open(stream) => Some(stream),
            Phase::Opening { .. } => None,
        }
    }

    /// With `hold`, stops the growth of the buffers. Without, allows it again.
    pub(super) fn hold(&mut self, hold: bool) {
        if self.held != hold
            && let Phase::Open(stream) = &mut self.phase
        {
            stream.hold_buffers(hold);
            self.held = hold;
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        match &self.phase {
            Phase::Opening { since, .. } => Some(*since + OPENING_MAX),
            Phase::Open(stream) => stream.connection().poll_timeout(),
        }
    }

    pub(super) fn memory(&self) -> u64 {
        match &self.phase {
            Phase::Opening { packet, .. } => packet.len() as u64,
            Phase::Open(stream) => stream.memory(),
        }
    }
}
