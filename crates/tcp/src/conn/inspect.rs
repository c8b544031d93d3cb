//! The sender's state of repair, for a carrier that shows it as `tcp_info` does.

use super::Connection;
use crate::Segment;
use crate::cc::CongestionCause;
use crate::recovery::Phase;
use windlass_base::Span;

/// A sender's state of congestion and repair: Linux's `tcp_ca_state`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// No sign of congestion or loss.
    Open,
    /// Duplicate ACKs or SACK blocks have arrived, and nothing is known to be lost.
    Disorder,
    /// An ECN echo has reduced the window, and the data in flight then is not acknowledged yet.
    Reduced,
    /// A fast retransmit is being repaired.
    Recovery,
    /// A timeout is being repaired.
    Loss,
}

/// Details of the repair of losses.
impl Connection {
    /// The state of congestion and repair.
    pub fn congestion_state(&self) -> CongestionState {
        let recovery = &self.recovery;
        match recovery.phase {
            Phase::FastRecovery => CongestionState::Recovery,
            Phase::Loss => CongestionState::Loss,
            Phase::Open if self.reduced_by_echo() => CongestionState::Reduced,
            Phase::Open if recovery.dup_acks > 0 || !recovery.scoreboard.sacked().is_empty() => {
                CongestionState::Disorder
            }
            Phase::Open => CongestionState::Open,
        }
    }

    fn reduced_by_echo(&self) -> bool {
        let by_echo = self.recovery.last_cut == Some(CongestionCause::Ecn);
        by_echo && self.tx.una <= self.recovery.recover && self.tx.una < self.tx.max
    }

    /// Bytes that the peer has SACKed and not acknowledged.
    pub fn sacked_bytes(&self) -> u64 {
        self.recovery.scoreboard.sacked().covered(self.tx.una..self.tx.max)
    }

    /// Bytes considered lost and not known to have arrived, retransmitted or not. Without RACK: of a repair after
    /// duplicate ACKs those before the last SACKed byte, after a timeout all.
    pub fn lost_bytes(&self) -> u64 {
        if self.has_rack() && self.recovery.phase != Phase::Loss {
            return self.recovery.rack.lost_bytes() + self.recovery.rack.copied_bytes();
        }
        let sacked = self.recovery.scoreboard.sacked();
        let (una, max) = (self.tx.una, self.tx.max);
        let end = match self.recovery.phase {
            Phase::Open => return 0,
            Phase::FastRecovery => sacked.end().unwrap_or(una + u64::from(self.agreed.mss)),
            Phase::Loss => max,
        };
        let end = end.clamp(una, max);
        end - una - sacked.covered(una..end)
    }

    /// Bytes retransmitted and not known to have arrived, nor to be lost again. Zero without RACK, which alone keeps
    /// track of them.
    pub fn retransmitted_bytes(&self) -> u64 {
        self.recovery.rack.copied_bytes()
    }

    /// The largest distance by which data that was not lost arrived late: from its beginning to the end of the furthest
    /// data that arrived before it, in bytes. Zero without RACK, which alone looks for it.
    pub fn reordering_distance(&self) -> u64 {
        self.recovery.rack.window.distance()
    }

    /// Retransmissions by timeouts, or probes, that nothing has answered yet.
    pub fn unanswered(&self) -> u32 {
        self.timers.retries
    }

    /// RTTVAR (RFC 6298); zero before the first sample.
    pub fn rtt_variance(&self) -> Span {
        self.rtt.variance()
    }

    /// True if a segment has data, or a FIN, that has not arrived before.
    pub fn has_new_data(&self, segment: &Segment) -> bool {
        let nxt = self.rx.reassembly.nxt();
        let start = segment.seq.unwrap_near(self.rx.isn, nxt);
        let payload = u64::from(segment.payload_len);
        payload > 0 && start.is_some_and(|start| start + payload > nxt)
    }
}
