//! F-RTO (RFC 5682): after a timeout, the sender decides from two ACKs whether the data in flight
//! is lost or late, before it retransmits more of it.

use super::Connection;
use super::transmit::Data;
use crate::recovery::{Frto, Phase};

/// New segments that step 2b sends, regardless of cwnd.
const NEW_SEGMENTS: u32 = 2;

impl Connection {
    /// Takes an ACK after a timeout into account: one that `advances` SND.UNA, or a duplicate ACK.
    pub(super) fn judge_timeout(&mut self, advances: bool) {
        if self.recovery.phase != Phase::Loss {
            return;
        }
        match self.recovery.frto {
            Frto::Off => {}
            Frto::FirstAck => {
                // RFC 5682 §2.1 step 2: (b) new data, or (a) the timeout counts as genuine.
                let asks = advances && self.may_send_new();
                self.recovery.frto = if asks { Frto::SecondAck(NEW_SEGMENTS) } else { Frto::Off };
            }
            // RFC 5682 §2.1 step 3 (b): the timeout was spurious.
            Frto::SecondAck(_) if self.is_of_late_data(advances) => self.undo(),
            // RFC 5682 §2.1 step 3 (a).
            Frto::SecondAck(_) => self.end_frto(),
        }
    }

    /// Ends F-RTO with the result that the timeout was genuine: the retransmission continues.
    pub(super) fn end_frto(&mut self) {
        let frto = core::mem::replace(&mut self.recovery.frto, Frto::Off);
        if matches!(frto, Frto::SecondAck(_)) && self.recovery.phase == Phase::Loss {
            self.go_back_to_una();
        }
    }

    /// The conditions of step 2b: the ACK covers the retransmission but not the whole flight, and
    /// there is new data that the window allows. If they hold, sending continues with the new data.
    fn may_send_new(&mut self) -> bool {
        let (una, nxt) = (self.tx.una, self.tx.nxt);
        let Some(undo) = &self.recovery.undo else { return false };
        let copied = una >= undo.copies_end();
        if !copied || una >= self.recovery.recovery_point {
            return false;
        }
        self.tx.nxt = self.tx.max;
        let possible = self.new_segment().is_some();
        if !possible {
            self.tx.nxt = nxt;
        }
        possible
    }

    /// Step 3: true if the ACK acknowledges or SACKs data that was sent only once, before the
    /// timeout, and no data sent after it.
    fn is_of_late_data(&self, advances: bool) -> bool {
        let recovery = &self.recovery;
        let beyond = recovery.scoreboard.sacked().end().unwrap_or(0).max(self.tx.una);
        beyond <= recovery.recovery_point && (advances || self.agreed.sack)
    }

    /// New data at SND.NXT within the peer's window and the sender's own limit.
    fn new_segment(&self) -> Option<Data> {
        let limit = self.options.window_limit.saturating_sub(self.in_flight());
        self.overridden_data().filter(|data| u64::from(data.segment) <= limit)
    }

    /// The next new segment to send before the second ACK.
    pub(super) fn probe_for_timeout(&mut self, left: u32) -> Option<Data> {
        let data = self.new_segment().filter(|_| left > 0)?;
        self.recovery.frto = Frto::SecondAck(left - 1);
        self.stats.frto_probes += 1;
        Some(data)
    }
}
