//! The packets that a connection sends.

use super::Probe;
use crate::wire;
use windlass_base::{Span, Time};
use windlass_tcp::{Flags, Segment};

/// How long the last ACK of a test comes after the others. Within a millisecond of a write Linux may
/// keep back what an ACK allows for the next one to come (`tcp_tso_should_defer`), and after the last
/// there is none.
const LAST_ACK_PAUSE: Span = Span::from_millis(3);
/// The first packets of a request have so many bytes if the server is to count marked ones.
const SHORT_BYTES: usize = 8;

impl Probe {
    /// Appends the next packet to send to `out`; false if there is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        self.release_shaped(now);
        if let Some(ack) = self.gate.poll_ack() {
            self.emit(ack, out);
            return true;
        }
        if let Some(last) = &mut self.last_ack {
            last.at.get_or_insert(now + LAST_ACK_PAUSE);
        }
        if self.shaper().is_some_and(|shaper| now < shaper.opens_at()) {
            return false;
        }
        self.has_opened = self.shaper().is_some();
        if self.emit_handshake_ack(out) {
            return true;
        }
        while !self.emit_next(now, out) {
            if self.backlog.is_empty() || !self.write_backlog() {
                return false;
            }
        }
        true
    }

    /// Appends the engine's next packet to `out`; false if it has none.
    fn emit_next(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        while let Some((run, payload)) = self.stream.poll_transmit(now, 1, &mut ()) {
            let Some(mut segment) = self.gate.pass(run.first) else { continue };
            if segment.flags.contains(Flags::SYN) {
                segment.options.mss = Some(self.order.mss);
                self.syns += 1;
                self.syn_sent = Some(now);
            }
            let reply_to_reset = segment.flags.contains(Flags::RST) && self.peer_reset;
            if reply_to_reset {
                continue;
            }
            self.identification = self.identification.wrapping_add(1);
            let ecn = self.ecn.as_mut().map(|ecn| ecn.stamp(&mut segment)).unwrap_or_default();
            let id = self.identification;
            wire::emit_with_ecn(&self.flow, &segment, &ecn, &payload, id, out);
            return true;
        }
        false
    }

    /// Appends a packet without data to `out`.
    pub(super) fn emit(&mut self, mut segment: Segment, out: &mut Vec<u8>) {
        self.identification = self.identification.wrapping_add(1);
        let ecn = self.ecn.as_mut().map(|ecn| ecn.stamp(&mut segment)).unwrap_or_default();
        wire::emit_with_ecn(&self.flow, &segment, &ecn, &[], self.identification, out);
    }

    /// Gives the engine bytes to send; returns false if it takes none.
    pub(super) fn write_backlog(&mut self) -> bool {
        let short = self.ecn.as_ref().is_some_and(|ecn| ecn.short_packets_left() > 0);
        let most = if short { SHORT_BYTES } else { usize::MAX };
        let len = self.backlog.len().min(most);
        match self.stream.write(&self.backlog[..len]) {
            Ok(taken @ 1..) => {
                self.backlog.drain(..taken);
                true
            }
            _ => false,
        }
    }
}
