//! The phase of a connection's repair and its variables, which `conn::congestion`, `conn::timers` and
//! `conn::acknowledge` change.

use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{DeliveryRate, Frto, Rack, Reduction, Undo};
use crate::cc::CongestionCause;
use alloc::boxed::Box;

/// The phase of the repair of losses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No repair is under way.
    Open,
    /// Repair after a fast retransmit (RFC 5681 §3.2, RFC 6582, RFC 6675).
    FastRecovery,
    /// Repair after a timeout: the sender retransmits everything not SACKed, in slow start.
    Loss,
}

/// The sender's state of congestion and repair.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) phase: Phase,
    /// Duplicate ACKs since the last new one.
    pub(crate) dup_acks: u32,
    /// SND.MAX at the last reduction of any cause. Until it is acknowledged there is no second one
    /// (RFC 6582 `recover`, RFC 3168 §6.1.2).
    pub(crate) recover: u64,
    /// SND.MAX when the last repair began; the repair ends when it is acknowledged (RFC 6675
    /// RecoveryPoint). It lies beyond `recover` if an ECN echo had reduced the window before.
    pub(crate) recovery_point: u64,
    /// The cause of the last reduction.
    pub(crate) last_cut: Option<CongestionCause>,
    /// Window inflation in bytes: segments known to have left the network (RFC 5681 §3.2).
    pub(crate) inflation: u64,
    /// The first unacknowledged segment (with RACK the first lost one) must be retransmitted at
    /// once.
    pub(crate) retransmit_una: bool,
    /// A partial ACK has already restarted the retransmission timer (RFC 6582 §3.2 step 3).
    pub(crate) partial_ack_seen: bool,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) rack: Rack,
    /// Rates, of connections whose controller needs them.
    pub(crate) rates: Option<Box<DeliveryRate>>,
    /// The reduction by PRR that is under way.
    pub(crate) reduction: Option<Reduction>,
    /// The outstanding tail loss probe.
    pub(crate) tail_probe: Option<TailProbe>,
    /// The state to restore if the last reduction turns out to be needless.
    pub(crate) undo: Option<Box<Undo>>,
    pub(crate) frto: Frto,
    /// SND.MAX when the path was replaced last, zero before. Data up to it was sent on the old path.
    pub(crate) old_path_end: u64,
    /// The first loss of such data is still to come.
    old_path_loss: bool,
    /// A loss was spared, so that the next timeout is the first that reduces.
    spared: bool,
}

/// An outstanding tail loss probe (RFC 8985 §7.1).
#[derive(Copy, Clone, Debug)]
pub(crate) struct TailProbe {
    /// SND.NXT after the probe (TLP.end_seq).
    pub(crate) end: u64,
    /// The probe was a retransmission of the last segment, not new data (TLP.is_retrans).
    pub(crate) again: bool,
}

impl Recovery {
    pub(crate) fn new() -> Recovery {
        Recovery {
            phase: Phase::Open,
            dup_acks: 0,
            recover: 1,
            recovery_point: 1,
            last_cut: None,
            inflation: 0,
            retransmit_una: false,
            partial_ack_seen: false,
            scoreboard: Scoreboard::default(),
            rack: Rack::default(),
            rates: None,
            reduction: None,
            tail_probe: None,
            undo: None,
            frto: Frto::Off,
            old_path_end: 0,
            old_path_loss: false,
            spared: false,
        }
    }

    /// The path is replaced after data up to `max` was sent.
    pub(crate) fn leave_path(&mut self, max: u64) {
        (self.old_path_end, self.old_path_loss) = (max, true);
    }

    /// Whether a loss that was found at SND.UNA is of data that only the old path has carried: the
    /// first such loss. Retransmissions take the new path.
    pub(crate) fn spares_loss(&mut self, una: u64) -> bool {
        self.spared = core::mem::take(&mut self.old_path_loss) && una < self.old_path_end;
        self.spared
    }

    /// Whether the last loss was spared. A repetition of it then lowers ssthresh as the first does.
    pub(crate) fn has_spared_loss(&self) -> bool {
        self.spared
    }

    /// Records a reduction of the window. `max` is SND.MAX.
    pub(crate) fn note_cut(&mut self, cause: CongestionCause, max: u64) {
        // RFC 3168 §6.1.2, RFC 6582 §3.2: at most one reduction for each window of data.
        self.recover = max;
        self.rack.note_reduction();
        self.last_cut = Some(cause);
    }

    /// Begins the repair of all data sent before `max`.
    pub(crate) fn begin(&mut self, phase: Phase, max: u64) {
        self.phase = phase;
        self.recovery_point = max;
        self.tail_probe = None;
    }

    /// Begins fast recovery.
    pub(crate) fn enter(&mut self, una: u64, max: u64, mss: u32, sack: bool) {
        self.begin(Phase::FastRecovery, max);
        self.partial_ack_seen = false;
        // RFC 5681 §3.2 step 3: retransmit at SND.UNA, inflate by three segments.
        self.retransmit_una = true;
        self.scoreboard.begin_recovery(una);
        // Without SACK, duplicate ACKs stand for the segments that have left the network.
        self.inflation = if sack { 0 } else { u64::from(DUP_THRESH) * u64::from(mss) };
    }

    /// Ends the repair, complete or not.
    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Open;
        self.inflation = 0;
        self.retransmit_una = false;
        self.frto = Frto::Off;
    }

    /// Deflates the window by the bytes acknowledged, and inflates it by the segment retransmitted
    /// (RFC 6582 §3.2 step 3).
    pub(crate) fn deflate(&mut self, acked: u64, mss: u32) {
        self.inflation = self.inflation.saturating_sub(acked);
        if acked >= u64::from(mss) {
            self.inflation += u64::from(mss);
        }
    }

    /// True at the third duplicate ACK in a row, but not at later ones.
    pub(crate) fn at_dup_thresh(&self) -> bool {
        self.dup_acks == DUP_THRESH
    }

    /// Bytes beyond cwnd that the first two duplicate ACKs allow (RFC 3042).
    pub(crate) fn limited_transmit(&self, mss: u32) -> u64 {
        // RFC 3042 §2: a segment for each of the first two duplicate ACKs.
        if self.phase == Phase::Open && self.dup_acks < DUP_THRESH {
            u64::from(self.dup_acks) * u64::from(mss)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3042 §2: one segment for each of the first two duplicate ACKs.
    #[test]
    fn limited_transmit_ends_with_the_third_duplicate_ack() {
        let allowed = [0, 1, 2, 3, 4].map(|dup_acks| {
            let recovery = Recovery { dup_acks, ..Recovery::new() };
            recovery.limited_transmit(1000)
        });
        assert_eq!(allowed, [0, 1000, 2000, 0, 0]);
    }
}
