//! Tail loss probes (RFC 8985 §7). A loss at the end of a flight causes no SACK, as no data follows
//! it. A probe makes the peer report the loss before the retransmission timer expires.

use super::Connection;
use super::trace::Signals;
use super::transmit::Data;
use crate::cc::CongestionCause;
use crate::deadline::Deadline;
use crate::recovery::{Phase, TailProbe};
use windlass_base::{Span, Time};

impl Connection {
    /// True if a tail loss probe may be sent: no loss is known, and no other probe is outstanding
    /// (RFC 8985 §7.2).
    pub(super) fn may_probe_tail(&self) -> bool {
        let (tx, recovery) = (&self.tx, &self.recovery);
        self.options.tail_loss_probe
            && self.agreed.sack
            && recovery.phase == Phase::Open
            && recovery.tail_probe.is_none()
            && recovery.scoreboard.sacked().is_empty()
            && tx.una < tx.nxt
            && tx.nxt == tx.max
            && tx.una < tx.edge
    }

    /// Arms the probe timer after data was sent or acknowledged (RFC 8985 §7.2).
    pub(super) fn arm_tail_probe(&mut self, now: Time) {
        if self.may_probe_tail() {
            let timeout = Deadline::at(now + self.probe_timeout());
            // When both expire together, the probe takes the place of the retransmission.
            self.timers.loss_detection = timeout.min(self.timers.retransmit);
        } else if self.tx.una == self.tx.max {
            self.timers.loss_detection = Deadline::NEVER;
        }
    }

    /// The probe timeout (PTO). As in Linux, the minimum RTO stands for the maximum delay of an
    /// ACK.
    fn probe_timeout(&self) -> Span {
        let srtt = self.rtt.smoothed();
        if srtt.is_zero() {
            return self.rtt.rto();
        }
        // RFC 8985 §7.2: 2 SRTT, and the delay of an ACK if one segment is in flight.
        let single = self.tx.nxt - self.tx.una <= u64::from(self.agreed.mss);
        srtt * 2 + if single { self.config.timers.rto.min } else { Span::ZERO }
    }

    /// The data of a probe: new data if the peer's window allows it, regardless of cwnd; else the
    /// last segment (RFC 8985 §7.3).
    pub(super) fn probe_tail(&mut self) -> Option<Data> {
        if !self.may_probe_tail() {
            return None;
        }
        let limit = self.options.window_limit.saturating_sub(self.in_flight());
        let new = self.overridden_data().filter(|data| u64::from(data.segment) <= limit);
        let again = new.is_none();
        let data = match new {
            Some(data) => data,
            None => self.last_segment()?,
        };
        // Karn's rule: the ACK of a copy gives no RTT sample (RFC 6298 §3).
        if again {
            self.tx.timing.drop_from(data.from);
        }
        let end = self.tx.max.max(data.from + u64::from(data.segment));
        self.recovery.tail_probe = Some(TailProbe { end, again });
        self.stats.tail_probes += 1;
        Some(data)
    }

    fn last_segment(&self) -> Option<Data> {
        let tx = &self.tx;
        let full = tx.max.saturating_sub(u64::from(self.agreed.mss));
        let from = tx.timing.last_start(tx.max.min(tx.written)).unwrap_or(full).max(tx.una);
        self.retransmission_at(from, tx.max)
    }

    /// Evaluates an ACK of a probe (RFC 8985 §7.4.2): reduces the window if the probe repaired a
    /// loss. `dsack` is the end of the duplicate that the ACK reports; a `silent` ACK carries no
    /// other news.
    pub(super) fn end_tail_probe(&mut self, now: Time, dsack: Option<u64>, silent: bool) {
        let Some(probe) = self.recovery.tail_probe.filter(|probe| self.tx.una >= probe.end) else {
            return;
        };
        // RFC 8985 §7.4.2: an ACK beyond the probe, without its DSACK: the probe repaired a loss.
        let repaired = probe.again && self.tx.una > probe.end && dsack != Some(probe.end);
        if repaired && self.tx.una > self.recovery.recover {
            self.signals |= Signals::FAST_RETRANSMIT;
            self.forget_undo();
            self.cut(now, CongestionCause::FastRetransmit, false);
            self.end_reduction();
        }
        if !probe.again || repaired || silent || dsack == Some(probe.end) {
            self.recovery.tail_probe = None;
        }
    }

    /// Passes a DSACK on to RACK's reordering window, unless it reports a probe.
    pub(super) fn note_dsack(&mut self, end: Option<u64>) {
        let probe = self.recovery.tail_probe.filter(|probe| probe.again).map(|probe| probe.end);
        if end.is_some() && end != probe {
            self.recovery.rack.window.note_dsack(self.tx.una, self.tx.nxt);
        }
    }
}
