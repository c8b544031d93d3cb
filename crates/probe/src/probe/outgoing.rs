//! The packets that a connection sends.

use super::Probe;
use crate::topic::ecn::Endpoint;
use crate::wire::{self, Flow};
use windlass_base::{Span, Time};
use windlass_tcp::{Flags, Segment};

/// How long the last ACK of a test comes after the others. Within a millisecond of a write Linux may
/// keep back what an ACK allows for the next one to come (`tcp_tso_should_defer`), and after the last
/// there is none.
const LAST_ACK_PAUSE: Span = Span::from_millis(3);
/// The first packets of a request have so many bytes if the server is to count marked ones.
const SHORT_BYTES: usize = 8;

/// The end from which packets leave.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) flow: Flow,
    /// Bytes that the engine's send buffer has not taken yet.
    pub(super) backlog: Vec<u8>,
    /// The identification of the last IPv4 header.
    pub(super) identification: u16,
}

impl Outgoing {
    /// Appends the packet of a segment to `out`.
    fn emit(
        &mut self,
        mut segment: Segment,
        ecn: Option<&mut Endpoint>,
        payload: &[&[u8]],
        out: &mut Vec<u8>,
    ) {
        self.identification = self.identification.wrapping_add(1);
        let ecn = ecn.map(|ecn| ecn.stamp(&mut segment)).unwrap_or_default();
        wire::emit_with_ecn(&self.flow, &segment, ecn, payload, self.identification, out);
    }
}

impl Probe {
    /// Appends the next packet to send to `out`; false if there is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let may_send = !self.is_connected() || self.run.release(now, &mut self.channel);
        if let Some(ack) = self.channel.gate.poll_ack() {
            self.outgoing.emit(ack, self.channel.ecn.as_mut(), &[], out);
            return true;
        }
        if let Some(last) = &mut self.channel.last_ack {
            last.at.get_or_insert(now + LAST_ACK_PAUSE);
        }
        if !may_send {
            return false;
        }
        if self.emit_handshake_ack(out) {
            return true;
        }
        while !self.emit_next(now, out) {
            if self.outgoing.backlog.is_empty() || !self.write_backlog() {
                return false;
            }
        }
        true
    }

    /// Appends the pure ACK of the SYN-ACK to `out` if AccECN wants one before the request.
    fn emit_handshake_ack(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(ecn) = self.channel.ecn.as_mut().filter(|ecn| ecn.owes_handshake_ack()) else {
            return false;
        };
        self.outgoing.emit(self.channel.gate.bare_ack(), Some(ecn), &[], out);
        true
    }

    /// Appends the engine's next packet to `out`; false if it has none.
    fn emit_next(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let channel = &mut self.channel;
        while let Some((run, payload)) = channel.stream.poll_transmit(now, 1, &mut ()) {
            let Some(mut segment) = channel.gate.pass(run.first) else { continue };
            if segment.flags.contains(Flags::SYN) {
                segment.options.mss = Some(channel.order.mss);
                (self.syns, self.syn_sent) = (self.syns + 1, now);
            }
            let reply_to_reset = segment.flags.contains(Flags::RST) && self.peer_reset;
            if reply_to_reset {
                continue;
            }
            self.outgoing.emit(segment, channel.ecn.as_mut(), &payload, out);
            return true;
        }
        false
    }

    /// Gives the engine bytes to send; returns false if it takes none.
    pub(super) fn write_backlog(&mut self) -> bool {
        let ecn = self.channel.ecn.as_ref();
        let short = ecn.is_some_and(|ecn| ecn.short_packets_left() > 0);
        let most = if short { SHORT_BYTES } else { usize::MAX };
        let backlog = &mut self.outgoing.backlog;
        let len = backlog.len().min(most);
        match self.channel.stream.write(&backlog[..len]) {
            Ok(taken @ 1..) => {
                backlog.drain(..taken);
                true
            }
            _ => false,
        }
    }
}
