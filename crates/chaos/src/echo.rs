//! The receiver's side of ECN, seen from outside (RFC 3168 §6.1.3; Hamann 1999, §3.1; RFC 8257
//! §3.2).

use windlass_base::Ecn;
use windlass_tcp::config::EcnEcho;
use windlass_tcp::{Flags, Segment};

/// Echoes that an end still owes its peer for the CE marks that arrived.
pub(crate) struct Echo {
    policy: EcnEcho,
    /// Marks that may still be echoed: each counts for one echo, or all for any number of them.
    marks: u64,
    /// A mark was taken in, and nothing was acknowledged since.
    due: bool,
    /// With DCTCP's echo: whether the data since the last ACK had no CE, and whether it had.
    states: [bool; 2],
    /// The same of the data that the end has looked at last. Data that is not new may be outside its window.
    last: [bool; 2],
}

impl Echo {
    pub(crate) fn new(policy: EcnEcho) -> Echo {
        Echo { policy, marks: 0, due: false, states: [true, false], last: [true, false] }
    }

    /// A packet arrived; `taken` if its data was new and in order.
    pub(crate) fn arrived(&mut self, segment: &Segment, ecn: Ecn, taken: bool) {
        if self.policy == EcnEcho::Dctcp && segment.payload_len > 0 {
            let state = usize::from(ecn == Ecn::Ce);
            self.states[state] = true;
            if taken {
                self.last = [false; 2];
            }
            self.last[state] = true;
        } else if ecn == Ecn::Ce {
            self.marks += 1;
            self.due |= taken;
        } else if segment.flags.contains(Flags::CWR) && self.policy != EcnEcho::OncePerCe {
            self.due = false;
            if taken {
                self.marks = 0;
            }
        }
    }

    /// A segment with an ACK leaves.
    pub(crate) fn acknowledged(&mut self, echo: bool) -> Result<(), String> {
        if self.policy == EcnEcho::Dctcp {
            let is_of_data = self.states[usize::from(echo)];
            self.states = self.last;
            return is_of_data
                .then_some(())
                .ok_or("no data had the state of CE of this ACK".into());
        }
        if echo && self.marks == 0 {
            return Err("an ECN echo without a mark".into());
        }
        if !echo && self.due {
            return Err("a mark was not echoed".into());
        }
        if echo && self.policy == EcnEcho::OncePerCe {
            self.marks -= 1;
        }
        self.due = false;
        Ok(())
    }
}
