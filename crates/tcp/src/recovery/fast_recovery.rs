use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{Frto, Rack, Reduction, Undo};
use crate::cc::CongestionCause;
use alloc::boxed::Box;

/// Where the sender stands in the repair of losses.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is being repaired.
    Open,
    /// After a fast retransmit (RFC 5681 §3.2, RFC 6582, RFC 6675).
    FastRecovery,
    /// After a timeout: everything not SACKed is sent again, in slow start.
    Loss,
}

/// The sender's memory of congestion and repair.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(crate) phase: Phase,
    /// Duplicate ACKs since the last new one.
    pub(crate) dup_acks: u32,
    /// SND.MAX at the last cut of any cause: one cut a window (RFC 6582 `recover`, RFC 3168
    /// §6.1.2).
    pub(crate) recover: u64,
    /// SND.MAX when the last repair began: it ends when all of that is acknowledged (RFC 6675
    /// RecoveryPoint). Beyond `recover` where the window had been cut by ECN before.
    pub(crate) recovery_point: u64,
    /// What cut the window last.
    pub(crate) last_cut: Option<CongestionCause>,
    /// Window inflation in bytes: segments known to have left the network (RFC 5681 §3.2).
    pub(crate) inflation: u64,
    /// The first unacknowledged segment, with RACK the first lost one, is to be sent again at once.
    pub(crate) retransmit_una: bool,
    /// The retransmission timer was restarted by a partial ACK already (RFC 6582 §3.2 step 3).
    pub(crate) partial_ack_seen: bool,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) rack: Rack,
    /// The window is on its way down.
    pub(crate) reduction: Option<Reduction>,
    /// A probe of the tail that nothing was heard of yet.
    pub(crate) tail_probe: Option<TailProbe>,
    /// The way back, if the last cut should turn out to have been needless.
    pub(crate) undo: Option<Box<Undo>>,
    pub(crate) frto: Frto,
}

/// TLP.end_seq and TLP.is_retrans (RFC 8985 §7.1).
#[derive(Copy, Clone, Debug)]
pub(crate) struct TailProbe {
    /// SND.NXT after it was sent.
    pub(crate) end: u64,
    /// It was the last segment again, not new data.
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
            reduction: None,
            tail_probe: None,
            undo: None,
            frto: Frto::Off,
        }
    }

    /// The window is cut now, with `max` the position after the last one sent.
    pub(crate) fn note_cut(&mut self, cause: CongestionCause, max: u64) {
        self.recover = max;
        self.last_cut = Some(cause);
    }

    /// A repair of everything sent before `max` begins.
    pub(crate) fn begin(&mut self, phase: Phase, max: u64) {
        self.phase = phase;
        self.recovery_point = max;
        self.tail_probe = None;
    }

    /// Fast recovery begins.
    pub(crate) fn enter(&mut self, una: u64, max: u64, mss: u32, sack: bool) {
        self.begin(Phase::FastRecovery, max);
        self.partial_ack_seen = false;
        self.retransmit_una = true;
        self.scoreboard.begin_recovery(una);
        // With SACK the pipe says what left the network; without, duplicate ACKs do.
        self.inflation = if sack { 0 } else { u64::from(DUP_THRESH) * u64::from(mss) };
    }

    /// Recovery is over, or abandoned.
    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Open;
        self.inflation = 0;
        self.retransmit_una = false;
        self.frto = Frto::Off;
    }

    /// RFC 6582 §3.2 step 3: deflate by what was acknowledged, inflate by the segment that goes
    /// out for it.
    pub(crate) fn deflate(&mut self, acked: u64, mss: u32) {
        self.inflation = self.inflation.saturating_sub(acked);
        if acked >= u64::from(mss) {
            self.inflation += u64::from(mss);
        }
    }

    /// True at the third duplicate ACK in a row, and only there.
    pub(crate) fn at_dup_thresh(&self) -> bool {
        self.dup_acks == DUP_THRESH
    }

    /// RFC 3042: bytes beyond cwnd allowed by the first two duplicate ACKs.
    pub(crate) fn limited_transmit(&self, mss: u32) -> u64 {
        if self.phase == Phase::Open && self.dup_acks < DUP_THRESH {
            u64::from(self.dup_acks) * u64::from(mss)
        } else {
            0
        }
    }
}
