//! The receiver's side of ECN, seen from outside (RFC 3168 §6.1.3, Hamann 1999, §3.1).

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
}

impl Echo {
    pub(crate) fn new(policy: EcnEcho) -> Echo {
        Echo { policy, marks: 0, due: false }
    }

    /// A packet arrived; `taken` if its data was new and in order.
    pub(crate) fn arrived(&mut self, segment: &Segment, ecn: Ecn, taken: bool) {
        if ecn == Ecn::Ce {
            self.marks += 1;
            self.due |= taken;
        } else if segment.flags.contains(Flags::CWR) && self.policy == EcnEcho::UntilCwr {
            self.due = false;
            if taken {
                self.marks = 0;
            }
        }
    }

    /// A segment with an ACK leaves.
    pub(crate) fn acknowledged(&mut self, echo: bool) -> Result<(), String> {
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
