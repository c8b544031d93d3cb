//! F-RTO (RFC 5682): after a timeout, two ACKs tell whether what was in flight is lost or late, before
//! more of it is sent again.

use super::Connection;
use super::transmit::Data;
use crate::recovery::{Frto, Phase};

/// Step 2b: new segments, whatever cwnd.
const NEW_SEGMENTS: u32 = 2;

impl Connection {
    /// An ACK in the wake of a timeout: one that `advances` SND.UNA, or a duplicate.
    pub(super) fn judge_timeout(&mut self, advances: bool) {
        if self.recovery.phase != Phase::Loss {
            return;
        }
        match self.recovery.frto {
            Frto::Off => {}
            Frto::FirstAck => {
                let asks = advances && self.may_send_new();
                self.recovery.frto = if asks { Frto::SecondAck(NEW_SEGMENTS) } else { Frto::Off };
            }
            Frto::SecondAck(_) if self.is_of_late_data(advances) => self.undo(),
            Frto::SecondAck(_) => self.end_frto(),
        }
    }

    /// The timeout is believed: what was not sent again yet follows.
    pub(super) fn end_frto(&mut self) {
        let frto = core::mem::replace(&mut self.recovery.frto, Frto::Off);
        if matches!(frto, Frto::SecondAck(_)) && self.recovery.phase == Phase::Loss {
            self.go_back_to_una();
        }
    }

    /// Step 2b: less than all is acknowledged, but all that was sent again; and there is new data,
    /// and a window for it. From there on, if so.
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

    /// Step 3: it acknowledges or SACKs what was sent once, before the timeout; and nothing that was
    /// sent after it.
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

    /// What goes out until the second ACK.
    pub(super) fn probe_for_timeout(&mut self, left: u32) -> Option<Data> {
        let data = self.new_segment().filter(|_| left > 0)?;
        self.recovery.frto = Frto::SecondAck(left - 1);
        self.stats.frto_probes += 1;
        Some(data)
    }
}
