use super::{Connection, Error, State};
use crate::cc::CongestionCause;
use crate::recovery::Phase;
use windlass_base::Time;

/// Deadlines of a connection; `None`: not running. The delayed ACK has its own, in the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    /// Retransmission (RFC 6298).
    pub(crate) retransmit: Option<Time>,
    /// Zero-window probes (RFC 9293 §3.8.6.1).
    pub(crate) persist: Option<Time>,
    /// End of TIME-WAIT.
    pub(crate) time_wait: Option<Time>,
    /// Keep-alive.
    pub(crate) keep_alive: Option<Time>,
    /// Retransmissions of the same data, or unanswered probes.
    pub(crate) retries: u32,
    /// Unanswered keep-alive probes.
    pub(crate) keep_alive_probes: u32,
    /// When the peer was heard last.
    pub(crate) last_heard: Time,
}

impl Timers {
    pub(crate) fn earliest(&self) -> Option<Time> {
        [self.retransmit, self.persist, self.time_wait, self.keep_alive].into_iter().flatten().min()
    }
}

fn expired(timer: Option<Time>, now: Time) -> bool {
    timer.is_some_and(|deadline| deadline <= now)
}

impl Connection {
    pub(super) fn expire_timers(&mut self, now: Time) {
        self.rx.acks.handle_timeout(now);
        if expired(self.timers.time_wait, now) {
            return self.finish(None);
        }
        if expired(self.timers.retransmit, now) {
            self.timers.retransmit = None;
            self.retransmission_timeout(now);
        }
        if expired(self.timers.persist, now) {
            self.timers.persist = None;
            self.persist_timeout(now);
        }
        if expired(self.timers.keep_alive, now) {
            self.timers.keep_alive = None;
            self.keep_alive_timeout(now);
        }
    }

    pub(super) fn arm_retransmit_timer(&mut self, now: Time) {
        self.timers.retransmit = Some(now + self.rtt.rto());
    }

    fn retransmission_timeout(&mut self, now: Time) {
        if matches!(self.state, State::SynSent | State::SynReceived) && self.tx.una == 0 {
            return self.syn_timeout();
        }
        if self.tx.edge <= self.tx.una {
            // The peer closed its window over data in flight: that is no congestion. What is
            // missing goes out with the probes (RFC 9293 §3.8.6).
            self.recovery.leave();
            self.go_back_to_una();
            return;
        }
        if !self.count_retry(self.config.max_retries) {
            return;
        }
        self.stats.timeouts += 1;
        self.enter_loss(now);
        self.rtt.back_off();
        self.arm_retransmit_timer(now);
    }

    fn syn_timeout(&mut self) {
        if self.count_retry(self.config.max_syn_retries) {
            self.stats.timeouts += 1;
            self.rtt.back_off();
            self.tx.nxt = 0;
            self.tx.timing.forget();
        }
    }

    /// Counts an unanswered transmission; false, with the connection failed, after the last.
    fn count_retry(&mut self, max: u32) -> bool {
        self.timers.retries += 1;
        if self.timers.retries <= max {
            return true;
        }
        self.finish(Some(Error::TimedOut));
        false
    }

    /// RFC 5681 §3.1 and RFC 6675 §5.1: one segment, then slow start over what is missing.
    fn enter_loss(&mut self, now: Time) {
        let repeated = self.timers.retries > 1 && self.config.hold_ssthresh_on_repeated_timeout;
        let cut_by_ecn = self.recovery.last_cut == Some(CongestionCause::Ecn)
            && (self.config.ecn_after_timeout || self.tx.una < self.recovery.recover);
        self.recovery.leave();
        self.recovery.dup_acks = 0;
        self.cut(now, CongestionCause::Timeout, repeated || cut_by_ecn);
        self.recovery.begin(Phase::Loss, self.tx.max);
        self.go_back_to_una();
    }

    /// Sends again from SND.UNA on, less what the peer reported to have.
    pub(super) fn go_back_to_una(&mut self) {
        let una = self.tx.una;
        self.tx.nxt = una;
        self.tx.timing.forget();
        if self.recovery.scoreboard.sacked().range_at(una).is_some() {
            // What is SACKed at SND.UNA would have been acknowledged: the receiver reneged
            // (RFC 2018 §8).
            self.recovery.scoreboard.forget();
        }
        self.recovery.scoreboard.begin_recovery(una);
    }

    /// Runs while there is something to send, nothing in flight and no window for it.
    pub(super) fn update_persist_timer(&mut self, now: Time) {
        if !self.window_closed() {
            if self.timers.persist.take().is_some() {
                // The peer has answered: the back-off was the probes' own.
                self.rtt.end_back_off();
            }
            self.pending.window_probe = false;
        } else if self.timers.persist.is_none() && !self.pending.window_probe {
            self.timers.persist = Some(now + self.rtt.rto());
            self.timers.retransmit = None;
        }
    }

    /// RFC 9293 §3.8.6.1: probes go on as long as the peer answers them.
    fn persist_timeout(&mut self, _now: Time) {
        if self.count_retry(self.config.max_retries) {
            self.rtt.back_off();
            self.pending.window_probe = true;
        }
    }

    /// The peer was heard: probes and retries begin anew, TIME-WAIT and keep-alive as well.
    pub(super) fn heard(&mut self, now: Time) {
        self.timers.last_heard = now;
        self.timers.keep_alive_probes = 0;
        if let Some(keep_alive) = self.config.keep_alive {
            self.timers.keep_alive = Some(now + keep_alive.idle);
        }
    }

    fn keep_alive_timeout(&mut self, now: Time) {
        let Some(keep_alive) = self.config.keep_alive else { return };
        // Before the handshake is complete its own retransmissions ask (RFC 9293 §3.8.4).
        let asks = self.state.is_synchronized()
            && !matches!(self.state, State::SynReceived | State::TimeWait);
        if !asks {
            return;
        }
        self.timers.keep_alive = Some(now + keep_alive.interval);
        if self.tx.una < self.tx.end() {
            // Data that waits asks the same question, and has a limit of its own.
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
        self.timers.retransmit = None;
        self.timers.persist = None;
        self.timers.keep_alive = None;
        self.timers.time_wait = Some(now + self.config.time_wait);
    }
}
