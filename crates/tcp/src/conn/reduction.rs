//! The reduction of the window to ssthresh over a round trip, in fast recovery and after ECN echoes: PRR (RFC 9937).

use super::Connection;
use crate::cc::UNLIMITED;
use crate::recovery::{Progress, Reduction};

/// The state before an ACK, from which the data that it delivered is computed.
#[derive(Copy, Clone)]
pub(super) struct Before {
    arrived: u64,
    una: u64,
    lost: u64,
}

impl Connection {
    pub(super) fn before_ack(&self) -> Before {
        Before { arrived: self.arrived(), una: self.tx.una, lost: self.recovery.rack.lost_bytes() }
    }

    /// The number of positions that the peer has reported as received.
    fn arrived(&self) -> u64 {
        let sacked = self.recovery.scoreboard.sacked();
        let (una, max) = (self.tx.una, self.tx.max);
        if sacked.is_empty() { una } else { una + sacked.covered(una..max) }
    }

    /// Begins a reduction after the controller has cut a window of `prior` bytes.
    pub(super) fn begin_reduction(&mut self, prior: u64) {
        let target = self.congestion.cwnd_bytes();
        // Without SACK an ACK does not say how much was delivered; without congestion control no
        // window is reduced.
        let takes_prr = target < UNLIMITED && !self.congestion.reduces_by_itself();
        if self.options.prr && self.agreed.sack && takes_prr {
            let sent = self.stats.data_segments_sent;
            self.recovery.reduction = Some(Reduction::new(prior, target, sent));
        }
    }

    /// Ends the reduction: the window is the controller's cwnd from now on.
    pub(super) fn end_reduction(&mut self) {
        if self.recovery.reduction.take().is_some() {
            self.congestion.allow_cwnd();
        }
    }

    /// Continues the reduction after an ACK.
    pub(super) fn reduce_by_ack(&mut self, before: Before) {
        let delivered = self.arrived().saturating_sub(before.arrived);
        let advanced = self.tx.una > before.una;
        // RFC 9937: SafeACK, an advance of SND.UNA without a sign of further losses.
        let safe = advanced && self.recovery.rack.lost_bytes() <= before.lost;
        if delivered > 0 {
            self.reduce(delivered, safe);
        }
    }

    /// Continues the reduction by `delivered` bytes that have left the network.
    pub(super) fn reduce(&mut self, delivered: u64, safe: bool) {
        let (pipe, sent) = (self.pipe(), self.stats.data_segments_sent);
        let progress = Progress { delivered, safe, pipe, sent };
        if let Some(reduction) = &mut self.recovery.reduction {
            let allowed = reduction.allow(progress, self.agreed.mss);
            self.congestion.allow(allowed);
        }
    }
}
