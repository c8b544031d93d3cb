//! Decides what to send next: RFC 9293 §3.8.6.2.1 (the sender's avoidance of silly windows), §3.7.4
//! (Nagle), RFC 6675 §5 step C.

use super::{Connection, Run, State};
use crate::recovery::{Frto, NextSegment, Phase};
use windlass_base::Time;

/// Data to put into a run.
#[derive(Copy, Clone, Debug)]
pub(super) struct Data {
    /// First position.
    pub(super) from: u64,
    /// Payload of each segment.
    pub(super) segment: u32,
    /// How many segments.
    pub(super) count: u32,
    /// Once it is sent, cwnd keeps the next full segment back: [`Connection::is_held_back_by_cwnd`]. False if that
    /// is not known.
    pub(super) fills_cwnd: bool,
}

impl Data {
    /// A single segment.
    pub(super) fn one(from: u64, segment: u32) -> Data {
        Data { from, segment, count: 1, fills_cwnd: false }
    }
}

impl Connection {
    /// Fills in the next run; false if there is nothing to send. Inlined because every second poll
    /// returns false.
    #[inline(always)]
    pub(super) fn fill_next(&mut self, now: Time, max: u32, run: &mut Run) -> bool {
        if !(self.has_fast_paths() && self.is_plain()) {
            return self.fill_whatever_the_state(now, max, run);
        }
        match self.data_at_nxt(max) {
            Some(data) => {
                self.fill_data(now, data, run);
                // An option of AccECN makes the segment smaller, and leaves room. A controller that hears of what
                // is sent may change cwnd.
                let may_differ = self.accurate.is_some() || self.congestion.needs_rates();
                let fills_cwnd = data.fills_cwnd && !may_differ;
                run.is_last = if fills_cwnd { self.is_quiet() } else { self.is_done_apart() };
            }
            None if self.rx.acks.is_due() => {
                self.fill_ack(now, run);
                run.is_last = self.is_done();
            }
            None => return false,
        }
        true
    }

    /// A quick test for a [plain](Self::is_plain) connection. True if it has nothing more to send:
    /// everything is sent, or cwnd has no room for another full segment.
    #[inline(always)]
    fn is_done(&self) -> bool {
        self.is_quiet() && (!self.tx.has_unsent() || self.is_held_back_by_cwnd())
    }

    #[inline(never)]
    fn is_done_apart(&self) -> bool {
        self.is_done()
    }

    /// True if neither an ACK nor a window probe may be next.
    #[inline(always)]
    fn is_quiet(&self) -> bool {
        !self.rx.acks.is_due() && !self.timers.persist.is_set()
    }

    #[inline(always)]
    pub(super) fn is_held_back_by_cwnd(&self) -> bool {
        let (tx, mss) = (&self.tx, u64::from(self.agreed.mss));
        let room = self.window_in_force().saturating_sub(self.pipe());
        room < mss && room < tx.window_left() && tx.nxt + mss <= tx.written && !tx.is_idle()
    }

    /// True if only new data or an ACK can be next to send. This holds nearly always, and the other
    /// cases of [`Connection::fill_whatever_the_state`] need no test then.
    fn is_plain(&self) -> bool {
        let (pending, recovery) = (&self.pending, &self.recovery);
        let probes = pending.window_probe | pending.tail_probe | pending.keep_alive_probe;
        self.state == State::Established
            && !self.rx.acks.is_pure_ack_due()
            && pending.reset.is_none()
            && !(probes | self.options.pacing)
            && recovery.phase == Phase::Open
            && recovery.scoreboard.sacked().is_empty()
            && !(self.options.idle_restart && self.tx.is_idle())
    }

    #[cold]
    fn fill_whatever_the_state(&mut self, now: Time, max: u32, run: &mut Run) -> bool {
        let any = self.fill_by_state(now, max, run);
        run.is_last = any && self.is_plain() && self.is_done_apart();
        any
    }

    fn fill_by_state(&mut self, now: Time, max: u32, run: &mut Run) -> bool {
        // First of all: it ends the peer's connection, where anything later would be a stray.
        if let Some(mut reset) = self.pending.reset.take() {
            if let Some(timestamps) = &mut reset.options.timestamps {
                *timestamps = self.timestamps(now);
            }
            *run = Run::bare(*reset);
            if core::mem::take(&mut self.pending.second_reset) {
                reset.seq = reset.seq.at(1);
                self.pending.reset = Some(reset);
            }
            return true;
        }
        match self.state {
            State::Closed | State::Listen => return false,
            // RFC 6298 §5.4: a timeout has set SND.NXT back for the SYN to be sent again.
            State::SynSent | State::SynReceived if self.tx.una == 0 && self.tx.nxt == 0 => {
                self.fill_syn(now, run);
            }
            State::SynSent | State::SynReceived if self.tx.una == 0 => {
                return self.fill_due_ack(now, run);
            }
            // RFC 9293 §3.10.7.4, fifth: a retransmitted FIN of the peer is acknowledged again.
            State::TimeWait => return self.fill_due_ack(now, run),
            _ => return self.fill_synchronized(now, max, run),
        }
        true
    }

    fn fill_due_ack(&mut self, now: Time, run: &mut Run) -> bool {
        let due = self.rx.acks.is_due();
        if due {
            self.fill_ack_apart(now, run);
        }
        due
    }

    fn fill_synchronized(&mut self, now: Time, max: u32, run: &mut Run) -> bool {
        // RFC 5681 §2: an ACK with data is no duplicate ACK, so this one is not left to data.
        if self.rx.acks.is_pure_ack_due() {
            self.fill_ack_apart(now, run);
        } else if let Some(data) = self.next_data(now, max) {
            let pace = self.pace();
            self.fill_data_apart(now, data, run);
            self.note_paced(now, run, pace);
        // The window may have opened since the timer expired; no probe is needed then.
        } else if core::mem::take(&mut self.pending.window_probe) && self.window_closed() {
            match self.overridden_data() {
                Some(data) => self.fill_data_apart(now, data, run),
                None => self.fill_window_probe(now, run),
            }
        } else if core::mem::take(&mut self.pending.keep_alive_probe) {
            self.fill_keep_alive(now, run);
        } else {
            return self.fill_due_ack(now, run);
        }
        true
    }

    /// The data to send now, or a bare FIN (no payload).
    fn next_data(&mut self, now: Time, max: u32) -> Option<Data> {
        // RFC 5681 §3.2 step 3: the fast retransmit leaves whatever the window.
        if core::mem::take(&mut self.recovery.retransmit_una) {
            return match self.has_rack() {
                true => self.retransmit_first_lost(),
                false => self.retransmit_lost(self.tx.una, self.tx.max),
            };
        }
        // RFC 8985 §7.3: a probe leaves whatever the congestion window.
        if core::mem::take(&mut self.pending.tail_probe)
            && let Some(probe) = self.probe_tail()
        {
            return Some(probe);
        }
        // RFC 5682 §2.1 step 2b: new data asks whether the flight is lost or late.
        if let Frto::SecondAck(left) = self.recovery.frto {
            return self.probe_for_timeout(left);
        }
        self.restart_after_idle(now);
        if self.congestion.needs_rates() {
            self.report_start(now);
        }
        let max = self.paced(now, max)?;
        if self.has_rack() && self.recovery.phase != Phase::Open {
            return self.next_by_rack(max);
        }
        if self.agreed.sack && self.recovery.phase == Phase::FastRecovery {
            return self.next_by_scoreboard(max);
        }
        self.skip_sacked();
        self.next_data_at_nxt(max)
    }

    /// One segment at `from`, not beyond `to` and the peer's window, regardless of cwnd: a fast
    /// retransmit.
    pub(super) fn retransmission_at(&self, from: u64, to: u64) -> Option<Data> {
        let tx = &self.tx;
        let data_end = to.min(tx.written).min(tx.edge);
        let segment = data_end.saturating_sub(from).min(u64::from(self.agreed.mss)) as u32;
        let fin_only = tx.closed && from == tx.written && from < tx.edge;
        (segment > 0 || fin_only).then(|| Data::one(from, segment))
    }

    /// The retransmission of a segment considered lost; advances HighRxt.
    pub(super) fn retransmit_lost(&mut self, from: u64, to: u64) -> Option<Data> {
        let data = self.retransmission_at(from, to)?;
        self.recovery.scoreboard.retransmitted_to(from + u64::from(data.segment.max(1)));
        Some(data)
    }

    /// The next data by the SACK scoreboard, while the pipe has room for a segment (RFC 6675 §5
    /// step C).
    fn next_by_scoreboard(&mut self, max: u32) -> Option<Data> {
        let mss = self.agreed.mss;
        // RFC 6675 §5 step C: cwnd - pipe >= 1 SMSS.
        if self.window_in_force() < self.pipe() + u64::from(mss) {
            return None;
        }
        let (una, sent) = (self.tx.una, self.tx.max);
        let new_data = self.next_data_at_nxt(max).is_some();
        match self.recovery.scoreboard.next_segment(una, sent, mss, new_data)? {
            NextSegment::New => self.next_data_at_nxt(max),
            NextSegment::Lost { from, to } => self.retransmit_lost(from, to),
            // HighRxt stays: the peer may still report holes below (RFC 6675 §4 NextSeg rule 4).
            NextSegment::Rescue { from, to } => {
                self.recovery.scoreboard.spend_rescue();
                self.retransmission_at(from, to)
            }
        }
    }

    /// True if the peer has SACKed the data at SND.NXT.
    fn is_sacked_at_nxt(&self) -> bool {
        self.tx.nxt < self.tx.max
            && self.recovery.scoreboard.sacked().range_at(self.tx.nxt).is_some()
    }

    /// Moves SND.NXT past SACKed data, which is not retransmitted after a timeout.
    pub(super) fn skip_sacked(&mut self) {
        if self.tx.nxt < self.tx.max
            && let Some(held) = self.recovery.scoreboard.sacked().range_at(self.tx.nxt)
        {
            self.tx.nxt = held.end;
        }
    }

    /// Data at SND.NXT within cwnd and the peer's window. Inlined into [`Connection::fill_next`];
    /// all other callers use [`Connection::next_data_at_nxt`].
    #[inline(always)]
    fn data_at_nxt(&self, max: u32) -> Option<Data> {
        let tx = &self.tx;
        if !tx.has_unsent() {
            return None;
        }
        let mss = u64::from(self.agreed.mss);
        // RFC 5681 §3.1: cwnd and the peer's window, the smaller one.
        let cwnd_room = self.window_in_force().saturating_sub(self.pipe());
        let room = cwnd_room.min(tx.window_left());
        let mut left = tx.written.saturating_sub(tx.nxt);
        if tx.nxt < tx.max
            && let Some(held) = self.recovery.scoreboard.sacked().next_start(tx.nxt)
        {
            left = left.min(held - tx.nxt);
        }
        if left == 0 {
            return self.bare_fin();
        }
        // RFC 9293 §3.8.6.2.1, condition 1: a full segment is sent.
        if room.min(left) >= mss {
            // An ACK of one segment usually allows one segment. This case needs no division, which
            // would cost more than the rest of this function.
            let one = room.min(left) < 2 * mss || max == 1;
            let count = if one { 1 } else { self.full_segments(room.min(left), max) };
            let fills_cwnd = cwnd_room < 2 * mss
                && cwnd_room < tx.window_left()
                && tx.nxt + 2 * mss <= tx.written;
            return Some(Data { from: tx.nxt, segment: mss as u32, count, fills_cwnd });
        }
        let small = left.min(mss).min(room);
        self.may_send_small(small, left).then(|| Data::one(tx.nxt, small as u32))
    }

    /// How many full segments of `bytes` a run at SND.NXT may have.
    #[inline(never)]
    fn full_segments(&self, bytes: u64, max: u32) -> u32 {
        let (tx, mss) = (&self.tx, u64::from(self.agreed.mss));
        let mut full = bytes / mss;
        if tx.nxt < tx.max {
            // All segments of a run are new, or all are retransmissions.
            full = full.min((tx.max - tx.nxt).div_ceil(mss));
        }
        full.min(u64::from(max)) as u32
    }

    /// As [`Connection::data_at_nxt`], not inlined.
    #[inline(never)]
    pub(super) fn next_data_at_nxt(&self, max: u32) -> Option<Data> {
        self.data_at_nxt(max)
    }

    fn bare_fin(&self) -> Option<Data> {
        let tx = &self.tx;
        let due = tx.closed && tx.nxt == tx.written && tx.nxt < tx.edge;
        due.then(|| Data::one(tx.nxt, 0))
    }

    /// True if less than a full segment may be sent (RFC 9293 §3.8.6.2.1): it is all remaining data
    /// and Nagle's algorithm does not hold it back, or it is half of the largest window that the
    /// peer has announced.
    #[inline(never)]
    fn may_send_small(&self, small: u64, left: u64) -> bool {
        let tx = &self.tx;
        if small == 0 {
            return false;
        }
        if small == left {
            // Nagle (RFC 9293 §3.7.4): the last piece waits while data is in flight.
            let last = tx.nxt + small == tx.written;
            let held_back = self.config.sending.nagle
                && last
                && !tx.closed
                && !tx.is_idle()
                && tx.nxt >= tx.max
                && (!self.options.nagle_spares_first || tx.small_end > tx.una);
            return !held_back;
        }
        // RFC 9293 §3.8.6.2.1, condition 3: half of the largest window of the peer (Fs = 1/2).
        let limited_by_peer = small == tx.window_left() && small < u64::from(self.agreed.mss);
        // Retransmissions are not held back: the window admitted them before.
        limited_by_peer && (2 * small >= tx.max_window || tx.nxt < tx.max)
    }

    /// Data of up to a segment that fits into the window, sent when the timer expires before the
    /// window grows (the override timeout of RFC 9293 §3.8.6.2.1).
    pub(super) fn overridden_data(&self) -> Option<Data> {
        let tx = &self.tx;
        let left = tx.written.saturating_sub(tx.nxt).min(u64::from(self.agreed.mss));
        let segment = left.min(tx.window_left()) as u32;
        (segment > 0).then(|| Data::one(tx.nxt, segment))
    }

    /// Restarts from the initial window after an idle RTO: there is no ACK clock any more (RFC 5681
    /// §4.1).
    fn restart_after_idle(&mut self, now: Time) {
        let tx = &self.tx;
        if self.options.idle_restart
            && tx.is_idle()
            && tx.has_unsent()
            && tx.max > 1
            && !self.pending.echo_pause
            && now.saturating_since(self.idle_since()) > self.rtt.rto()
        {
            let mss = u64::from(self.agreed.mss);
            self.congestion.on_idle_restart(mss * u64::from(self.config.window.initial));
            self.forget_undo();
            self.tx.last_sent = now;
            self.pending.idle_restart = true;
        }
    }

    /// The time since which nothing keeps the sender from sending. The pauses of a window of less than a segment are
    /// no idle time.
    fn idle_since(&self) -> Time {
        let last = self.tx.last_sent;
        self.held_below_a_segment(last).map_or(last, |due| due.max(last))
    }

    /// True if the peer's window holds data back and no data in flight will bring an ACK.
    pub(super) fn window_closed(&self) -> bool {
        // A FIN may be all that waits, so the states after CLOSE count.
        let can_send = matches!(
            self.state,
            State::Established
                | State::CloseWait
                | State::FinWait1
                | State::Closing
                | State::LastAck
        );
        can_send
            && self.tx.is_idle()
            && self.tx.has_unsent()
            && !self.is_sacked_at_nxt()
            && !self.pending.echo_pause
            && self.next_data_at_nxt(1).is_none()
    }
}
