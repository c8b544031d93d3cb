//! The timers of a connection: their deadlines, and the steps when one expires.
//!
//! `Connection::handle_timeout` runs those that are due. Sending (`emit`), ACKs (`acknowledge`) and
//! RACK (`rack`) arm them; the delayed ACK has its deadline in the receiver's `ack_schedule`.

use super::trace::Signals;
use super::{Connection, Error, State};
use crate::cc::CongestionCause;
use crate::deadline::Deadline;
use crate::recovery::Phase;
use windlass_base::Time;

/// Deadlines of a connection. The delayed ACK has its own, in the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    /// Retransmission (RFC 6298).
    pub(crate) retransmit: Deadline,
    /// An earlier deadline than `retransmit`: the reordering timer of RACK (RFC 8985 §6.2 step 5),
    /// or, without a delivery out of order, the tail loss probe (§7.2).
    pub(crate) loss_detection: Deadline,
    /// Zero-window probes (RFC 9293 §3.8.6.1).
    pub(crate) persist: Deadline,
    /// In TIME-WAIT its end; in other states the next burst of a paced connection.
    pub(crate) wait: Deadline,
    /// The next keep-alive probe (RFC 9293 §3.8.4).
    pub(crate) keep_alive: Deadline,
    /// Retransmissions of the same data, or unanswered probes.
    pub(crate) retries: u32,
    /// Unanswered keep-alive probes.
    pub(crate) keep_alive_probes: u32,
}

impl Timers {
    #[inline]
    pub(crate) fn earliest(&self) -> Deadline {
        let rare = [self.loss_detection, self.persist, self.wait, self.keep_alive];
        if Deadline::none_is_set(rare) {
            return self.retransmit;
        }
        rare.into_iter().fold(self.retransmit, Deadline::min)
    }
}

impl Connection {
    pub(super) fn expire_timers(&mut self, now: Time) {
        self.rx.acks.handle_timeout(now);
        if self.timers.wait.has_expired(now) {
            if self.state == State::TimeWait {
                return self.finish(None);
            }
            // The next poll sends the burst.
            self.timers.wait = Deadline::NEVER;
        }
        if self.timers.loss_detection.has_expired(now) {
            self.loss_detection_timeout(now);
        }
        if self.timers.retransmit.has_expired(now) {
            self.timers.retransmit = Deadline::NEVER;
            self.retransmission_timeout(now);
        }
        if self.timers.persist.has_expired(now) {
            self.timers.persist = Deadline::NEVER;
            self.persist_timeout(now);
        }
        if self.timers.keep_alive.has_expired(now) {
            self.timers.keep_alive = Deadline::NEVER;
            self.keep_alive_timeout(now);
        }
    }

    pub(super) fn arm_retransmit_timer(&mut self, now: Time) {
        self.timers.retransmit = Deadline::at(now + self.rtt.rto());
    }

    /// Restarts the retransmission timer if it runs, for data that was just retransmitted.
    pub(super) fn extend_retransmit_timer(&mut self, now: Time) {
        if self.timers.retransmit.is_set() {
            self.arm_retransmit_timer(now);
        }
    }

    fn retransmission_timeout(&mut self, now: Time) {
        if matches!(self.state, State::SynSent | State::SynReceived) && self.tx.una == 0 {
            return self.syn_timeout();
        }
        if core::mem::take(&mut self.pending.echo_pause) {
            self.congestion.allow_cwnd();
            if self.tx.una == self.tx.max {
                // Nothing is lost: the next segment may leave.
                return;
            }
        }
        if self.tx.edge <= self.tx.una {
            // The peer closed its window over data in flight, which is no congestion. The probes
            // carry the missing data (RFC 9293 §3.8.6).
            self.end_reduction();
            self.recovery.leave();
            self.forget_undo();
            self.go_back_to_una();
            return;
        }
        if self.pipe() == 0
            && let Some(next) = self.held_below_a_segment(now)
        {
            // Nothing is in the network that an ACK could be missing for: the timer is for the segment that the
            // pacer keeps back.
            self.timers.retransmit = Deadline::at(next + self.rtt.rto());
            return;
        }
        if !self.count_retry(self.config.timers.max_retries) {
            return;
        }
        self.stats.timeouts += 1;
        self.signals |= Signals::TIMEOUT;
        // RFC 6298 §5.4 to §5.6: retransmit, back off, restart the timer.
        self.enter_loss(now);
        self.rtt.back_off();
        self.arm_retransmit_timer(now);
    }

    fn syn_timeout(&mut self) {
        if self.count_retry(self.config.timers.max_syn_retries) {
            self.stats.timeouts += 1;
            self.signals |= Signals::TIMEOUT;
            let linear = self.config.timers.linear_syn_timeouts;
            if self.state != State::SynSent || self.timers.retries > linear {
                self.rtt.back_off();
            }
            // The SYN goes out again; its ACK gives no RTT sample (RFC 6298 §3).
            self.tx.nxt = 0;
            self.tx.timing.forget();
        }
    }

    /// Counts an unanswered transmission. After `max` of them the connection fails, and it returns
    /// false.
    fn count_retry(&mut self, max: u32) -> bool {
        self.timers.retries += 1;
        if self.timers.retries <= max {
            return true;
        }
        // RFC 9293 §3.8.3: the limit R2 ends the connection.
        self.finish(Some(Error::TimedOut));
        false
    }

    /// Begins the repair after a timeout: one segment, then slow start over all missing data (RFC
    /// 5681 §3.1, RFC 6675 §5.1).
    fn enter_loss(&mut self, now: Time) {
        let phase = self.recovery.phase;
        // Probes of a closed window count as retries, too.
        let repeated = self.timers.retries > 1
            && phase == Phase::Loss
            && self.config.recovery.hold_ssthresh_on_repeated_timeout;
        // The loss of a retransmission is a second sign of congestion (RFC 5681 §4.3).
        let lost_again = phase != Phase::Open || self.recovery.rack.has_copy_since_reduction();
        let cut_by_ecn = self.recovery.last_cut == Some(CongestionCause::Ecn)
            && (self.config.ecn.cut_after_timeout
                || (self.tx.una < self.recovery.recover && !lost_again));
        let frto = self.recovery.frto;
        self.recovery.leave();
        self.recovery.dup_acks = 0;
        self.recovery.frto = frto;
        self.prepare_undo_of_timeout(phase);
        self.report_all_lost(now);
        self.cut(now, CongestionCause::Timeout, repeated || cut_by_ecn);
        self.recovery.begin(Phase::Loss, self.tx.max);
        self.go_back_to_una();
        self.reset_pacer();
    }

    /// Restarts sending at SND.UNA; SACKed data is skipped.
    pub(super) fn go_back_to_una(&mut self) {
        let una = self.tx.una;
        self.tx.nxt = una;
        self.tx.timing.forget();
        self.recovery.rack.forget();
        self.timers.loss_detection = Deadline::NEVER;
        if self.recovery.scoreboard.sacked().range_at(una).is_some() {
            // Data at SND.UNA is SACKed but not acknowledged: the receiver has discarded it (RFC
            // 2018 §8).
            self.recovery.scoreboard.forget();
        }
        self.recovery.scoreboard.begin_recovery(una);
    }

    /// Starts or stops the persist timer. It runs while there is data to send, no data in flight
    /// and no window for it.
    #[inline(always)]
    pub(super) fn update_persist_timer(&mut self, now: Time) {
        let may_be_stuck = self.tx.is_idle() && self.tx.has_unsent();
        if may_be_stuck || self.timers.persist.is_set() {
            self.set_persist_timer(now);
        } else {
            self.pending.window_probe = false;
        }
    }

    #[inline(never)]
    fn set_persist_timer(&mut self, now: Time) {
        if !self.window_closed() {
            if self.timers.persist.is_set() {
                // The peer has opened its window: the back-off applied to the probes only.
                self.timers.persist = Deadline::NEVER;
                self.rtt.end_back_off();
            }
            self.pending.window_probe = false;
        } else if !self.timers.persist.is_set() && !self.pending.window_probe {
            // RFC 9293 §3.8.6.1: the first probe leaves an RTO after the window has closed.
            self.timers.persist = Deadline::at(now + self.rtt.rto());
            self.timers.retransmit = Deadline::NEVER;
        }
    }

    /// Sends the next window probe. Probes continue as long as the peer answers (RFC 9293
    /// §3.8.6.1).
    fn persist_timeout(&mut self, _now: Time) {
        if self.count_retry(self.config.timers.max_retries) {
            // RFC 9293 §3.8.6.1: the interval between probes grows exponentially.
            self.rtt.back_off();
            self.pending.window_probe = true;
        }
    }

    /// Restarts the keep-alive timer after a segment from the peer.
    pub(super) fn heard(&mut self, now: Time) {
        self.timers.keep_alive_probes = 0;
        if self.options.keep_alive
            && let Some(keep_alive) = self.config.timers.keep_alive
        {
            self.timers.keep_alive = Deadline::at(now + keep_alive.idle);
        }
    }

    fn keep_alive_timeout(&mut self, now: Time) {
        let Some(keep_alive) = self.config.timers.keep_alive else { return };
        // During the handshake the retransmitted SYNs serve as probes (RFC 9293 §3.8.4).
        let asks = self.state.is_synchronized()
            && !matches!(self.state, State::SynReceived | State::TimeWait);
        if !asks {
            return;
        }
        self.timers.keep_alive = Deadline::at(now + keep_alive.interval);
        if self.tx.una < self.tx.end() {
            // Outstanding data serves as a probe too, with its own limit of retransmissions.
            return;
        }
        if self.timers.keep_alive_probes >= keep_alive.probes {
            return self.finish(Some(Error::TimedOut));
        }
        self.timers.keep_alive_probes += 1;
        self.pending.keep_alive_probe = true;
    }

    pub(super) fn enter_time_wait(&mut self, now: Time) {
        if self.state != State::TimeWait {
            self.state = State::TimeWait;
            self.events.push(super::Event::Closed);
        }
        // RFC 9293 §3.10.7.4, eighth: the other timers are turned off.
        self.timers.retransmit = Deadline::NEVER;
        self.timers.loss_detection = Deadline::NEVER;
        self.timers.persist = Deadline::NEVER;
        self.timers.keep_alive = Deadline::NEVER;
        self.timers.wait = Deadline::at(now + self.config.timers.time_wait);
    }
}
