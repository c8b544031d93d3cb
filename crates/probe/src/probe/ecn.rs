//! ECN of a connection, if its order asks for it.

use super::{Order, Probe, Purpose};
use crate::ecn::{Endpoint, Mode};
use crate::wire::Received;

impl Order {
    /// The client's side of ECN; `None` if the SYN asks for nothing.
    pub(super) fn endpoint(&self) -> Option<Endpoint> {
        match self.purpose {
            Purpose::Ecn(ask) => Some(Endpoint::new(ask, true)),
            Purpose::Identify => self.ecn.map(|ask| Endpoint::new(ask, false)),
            _ => None,
        }
    }
}

impl Probe {
    /// The feedback that the connection uses.
    pub(super) fn ecn_mode(&self) -> Mode {
        self.ecn.as_ref().map_or(Mode::None, Endpoint::mode)
    }

    /// Takes what an acceptable packet has for ECN.
    pub(super) fn read_ecn(&mut self, received: &Received<'_>) {
        if let Some(ecn) = &mut self.ecn {
            ecn.handle_segment(received);
        }
    }

    /// Appends the pure ACK of the SYN-ACK to `out` if AccECN wants one before the request.
    pub(super) fn emit_handshake_ack(&mut self, out: &mut Vec<u8>) -> bool {
        let owes = self.ecn.as_ref().is_some_and(Endpoint::owes_handshake_ack);
        if owes {
            let ack = self.gate.bare_ack();
            self.emit(ack, out);
        }
        owes
    }
}
