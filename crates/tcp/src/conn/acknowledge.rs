//! The ACK of a segment: RFC 9293 §3.10.7.4 step 5, and RFC 5681 behind it.

use super::emit::{milliseconds, timestamp};
use super::{Connection, Event, State};
use crate::cc::{Ack, Marks};
use crate::config::Growth;
use crate::deadline::Deadline;
use crate::recovery::{Phase, Timed};
use crate::{Flags, Segment, SeqNumber};
use alloc::boxed::Box;
use core::ops::Range;
use windlass_base::{Span, Time};

/// The SACK blocks of an ACK.
#[derive(Copy, Clone)]
struct Sacked {
    /// Bytes that were not SACKed before.
    news: u64,
    /// The end of the highest block; 0 without any.
    end: u64,
}

impl Sacked {
    const NONE: Sacked = Sacked { news: 0, end: 0 };
}

impl Connection {
    /// Takes the ACK of an acceptable segment that begins at `start`. False if the segment is to
    /// be dropped with it.
    pub(super) fn acknowledge(&mut self, now: Time, segment: &Segment, start: u64) -> bool {
        if self.has_fast_paths()
            && let Some(ack) = self.plain_ack(segment)
        {
            self.heard(now);
            self.update_window(segment, start, ack);
            self.handle_new_ack(now, segment, ack, false);
            return true;
        }
        self.acknowledge_closely(now, segment, start)
    }

    /// The position that the segment acknowledges, if the segment acknowledges new data and carries
    /// no other signal. Most ACKs of a transfer are of that kind; of [`Connection::take_ack`] only
    /// [`Connection::handle_new_ack`] concerns them.
    #[inline(always)]
    pub(super) fn plain_ack(&self, segment: &Segment) -> Option<u64> {
        // ECE, SACK blocks and RACK need the steps of `take_ack`.
        let plain = self.state == State::Established
            && !segment.flags.intersects(Flags::SYN | Flags::ECE)
            && segment.options.sack.is_empty()
            && !self.options.rack
            && !self.options.prr
            && !self.congestion.follows_acks()
            && self.accurate.is_none();
        let ack = segment.ack.unwrap_near(self.tx.isn, self.tx.una)?;
        (plain && self.tx.una < ack && ack <= self.tx.max).then_some(ack)
    }

    #[inline(never)]
    fn acknowledge_closely(&mut self, now: Time, segment: &Segment, start: u64) -> bool {
        let Some(ack) = self.acceptable_ack(now, segment) else { return false };
        self.heard(now);
        if self.state == State::SynReceived {
            self.syn_acknowledged(now);
            self.take_handshake_ack(segment);
        }
        let window_changed = self.update_window(segment, start, ack);
        self.take_ack(now, segment, ack, window_changed);
        self.state_after_ack(now)
    }

    /// True for data that repeats the last ACK number and window, as nearly all segments of a bulk
    /// transfer do at its receiver. Of the steps below, only the update of SND.WL1 concerns it.
    #[inline(always)]
    pub(super) fn repeats_last_ack(&self, segment: &Segment) -> bool {
        let tx = &self.tx;
        segment.payload_len > 0
            && self.state == State::Established
            && segment.ack == tx.isn.at(tx.una)
            && !segment.flags.intersects(Flags::SYN | Flags::ECE)
            && segment.options.sack.is_empty()
            && tx.una + self.window_of(segment) == tx.edge
            && !self.timers.persist.is_set()
            && !self.rack_is_busy()
    }

    /// Takes the ACK of a segment that is not acceptable. While this end's window is closed, the
    /// ACK still reports what the peer has received (RFC 9293 §3.10.7.4: "special allowance ...
    /// valid ACKs"). A retransmitted segment may report that too, when earlier ACKs of the peer
    /// were lost.
    #[inline(never)]
    pub(super) fn acknowledge_from_outside(&mut self, now: Time, segment: &Segment) {
        let nxt = self.rx.reassembly.nxt();
        let Some(start) = segment.seq.unwrap_near(self.rx.isn, nxt) else { return };
        // A segment at RCV.NXT is unacceptable only while the window is closed.
        let window_closed = start == nxt && self.state != State::SynReceived;
        if window_closed || (start < nxt && self.is_new_ack_below(segment, nxt - start)) {
            self.acknowledge(now, segment, start);
        }
    }

    /// True for a segment below RCV.NXT whose ACK is worth taking. The segment must be a
    /// retransmission from within the last window, or begin one byte before RCV.NXT: the peer may
    /// not know yet that its one-byte probe was taken. The ACK must cover new data, or announce a
    /// window while nothing is in flight. A repeated ACK number does not count as a duplicate ACK
    /// here.
    fn is_new_ack_below(&self, segment: &Segment, behind: u64) -> bool {
        let tx = &self.tx;
        let Some(ack) = segment.ack.unwrap_near(tx.isn, tx.una) else { return false };
        let news = ack > tx.una || (ack == tx.una && tx.is_idle());
        let again = segment.sequence_len() > 0 && behind <= self.config.buffers.receive;
        news && ack <= tx.max && (again || behind == 1)
    }

    /// The position that the segment acknowledges, if it is acceptable (RFC 5961 §5.2). An
    /// unacceptable one is answered by a challenge ACK, or by a reset during the handshake.
    fn acceptable_ack(&mut self, now: Time, segment: &Segment) -> Option<u64> {
        let ack = segment.ack.unwrap_near(self.tx.isn, self.tx.una);
        let in_handshake = self.state == State::SynReceived;
        // RFC 5961 §5.2: from SND.UNA - MAX.SND.WND to SND.NXT, here to the highest sent.
        let oldest = if in_handshake { 1 } else { self.tx.una.saturating_sub(self.tx.max_window) };
        let acceptable = ack.filter(|ack| (oldest..=self.tx.max).contains(ack));
        // RFC 9293 §3.10.7.4, fifth: SYN-RECEIVED answers it by a reset.
        if acceptable.is_none() && in_handshake {
            self.pending.reset = segment.reset_reply().map(Box::new);
        } else if acceptable.is_none() {
            self.challenge(now);
        }
        acceptable
    }

    /// Takes the window that the segment announces, unless the segment is older than the last one
    /// that updated the window. True if the right edge changed: the segment is no duplicate ACK
    /// then.
    fn update_window(&mut self, segment: &Segment, start: u64, ack: u64) -> bool {
        let syn = segment.flags.contains(Flags::SYN);
        let window = if syn { u64::from(segment.window) } else { self.window_of(segment) };
        let tx = &mut self.tx;
        let edge = ack + window;
        // RFC 9293 §3.10.7.4 requires a sequence number that is not older. A retransmission with a
        // higher ACK number is newer all the same. Of two segments that differ in the window alone,
        // the smaller window is the likelier one to be reordered, and it is ignored. A closed
        // window is taken nevertheless: at worst a probe asks again.
        let window_counts = edge > tx.edge || window == 0;
        let newer = ack > tx.una || start > tx.wl1 || (start == tx.wl1 && window_counts);
        let changed = edge != tx.edge;
        if ack >= tx.una && newer {
            tx.set_window(ack, window);
            tx.wl1 = tx.wl1.max(start);
        }
        changed
    }

    fn take_ack(&mut self, now: Time, segment: &Segment, ack: u64, window_changed: bool) {
        let has_blocks = self.agreed.sack && !segment.options.sack.is_empty();
        let before = self.options.prr.then(|| self.before_ack());
        let needs_rates = self.congestion.needs_rates();
        let rates = if needs_rates { self.rates_before_ack() } else { None };
        let rack = self.has_rack() && (has_blocks || self.rack_is_busy());
        let highest = self.recovery.scoreboard.sacked().end().unwrap_or(0);
        let dsack = if has_blocks { self.take_dsack(segment, ack) } else { None };
        let Sacked { news: newly_sacked, end: sacked_end } =
            if has_blocks { self.take_sack_blocks(now, segment, highest) } else { Sacked::NONE };
        let echo = if self.accurate.is_some() {
            self.take_feedback(now, segment, ack, newly_sacked)
        } else {
            self.take_echo(now, segment, ack, newly_sacked)
        };
        // An ACK whose echo reduced the window does not open it (RFC 3168 §6.1.2).
        let held = echo && {
            let stale = self.accurate.is_none() && self.is_stale_echo(ack);
            self.handle_ecn_echo(now, ack) || !stale
        };
        let advances = ack > self.tx.una;
        if advances {
            if needs_rates {
                self.note_rate_delivered(now, self.tx.una..ack);
            }
            if rack {
                self.note_delivered(now, self.tx.una..ack, highest);
            }
            self.handle_new_ack(now, segment, ack, held);
        } else if self.is_duplicate_ack(segment, ack, window_changed, newly_sacked) {
            self.handle_duplicate_ack(now);
        }
        if dsack.is_some() {
            self.judge_duplicates();
        }
        if rack {
            self.note_dsack(dsack);
            self.find_losses(now, segment);
        }
        // SACKed data beyond `recover` was sent after the last reduction, with CWR on its first
        // segment: the echo is of another window of data, whatever SND.UNA waits for. If RACK finds
        // a lost retransmission in that window, the loss counts.
        if echo && !self.pending.cwr && sacked_end > self.recovery.recover {
            self.cut_by_ecn(now);
        }
        // RFC 9937 §6: the window of the reduction follows each ACK.
        if let Some(before) = before.filter(|_| self.recovery.reduction.is_some()) {
            self.reduce_by_ack(before);
        }
        if self.recovery.tail_probe.is_some() {
            // Data that repeats an ACK is no duplicate ACK (RFC 5681 §2).
            let bare = segment.sequence_len() == 0;
            let silent = bare && !advances && !window_changed && newly_sacked == 0;
            self.end_tail_probe(now, dsack, silent);
        }
        if advances && self.options.tail_loss_probe {
            self.arm_tail_probe(now);
        }
        if let Some(rates) = rates {
            self.report_delivery(now, rates);
        }
        // The peer answers its probes: they may go on (RFC 1122 §4.2.2.17).
        if self.timers.persist.is_set() {
            self.timers.retries = 0;
        }
    }

    /// True if the ACK has an echo. Tells the controller how much of the data that it delivers was marked.
    fn take_echo(&mut self, now: Time, segment: &Segment, ack: u64, newly_sacked: u64) -> bool {
        let echo = self.agreed.ecn && segment.flags.contains(Flags::ECE);
        if !self.congestion.counts_marks() {
            return echo;
        }
        let delivered = self.delivered_by(ack, newly_sacked);
        if delivered > 0 {
            self.congestion.on_marks(&Marks {
                now,
                delivered,
                marked: if echo { delivered } else { 0 },
                exact: false,
                acked_total: ack - 1,
                sent_total: self.tx.max - 1,
            });
        }
        echo
    }

    /// Bytes that an ACK of `ack` acknowledges for the first time, or SACKs.
    pub(super) fn delivered_by(&self, ack: u64, newly_sacked: u64) -> u64 {
        let advance = ack.saturating_sub(self.tx.una);
        let sacked = self.recovery.scoreboard.sacked().covered(self.tx.una..ack.max(self.tx.una));
        advance - sacked + newly_sacked
    }

    /// Records the SACK blocks.
    fn take_sack_blocks(&mut self, now: Time, segment: &Segment, highest: u64) -> Sacked {
        let (isn, una, max) = (self.tx.isn, self.tx.una, self.tx.max);
        let mut sacked = Sacked::NONE;
        for (left, right) in segment.options.sack.as_slice() {
            let range = (left.unwrap_near(isn, una), right.unwrap_near(isn, una));
            // A DSACK below SND.UNA, and a block of data never sent, say nothing about holes.
            if let (Some(left), Some(right)) = range
                && una < left
                && left < right
                && right <= max
            {
                if self.has_rack() {
                    self.note_delivered(now, left..right, highest);
                }
                self.note_rate_delivered(now, left..right);
                sacked.news += self.recovery.scoreboard.sack(left..right);
                sacked.end = sacked.end.max(right);
            }
        }
        sacked
    }

    /// Records the duplicate that the ACK reports (DSACK); returns its end.
    fn take_dsack(&mut self, segment: &Segment, ack: u64) -> Option<u64> {
        let range = self.dsack(segment, ack)?;
        let end = range.end;
        self.note_duplicate_copy(range);
        Some(end)
    }

    /// The duplicate that the first block reports, if it is a DSACK: it lies below the ACK number
    /// or within the second block (RFC 2883 §4).
    fn dsack(&self, segment: &Segment, ack: u64) -> Option<Range<u64>> {
        let blocks = segment.options.sack.as_slice();
        let position = |number: SeqNumber| number.unwrap_near(self.tx.isn, self.tx.una);
        let range = |(left, right): &(_, _)| Some(position(*left)?..position(*right)?);
        let first = blocks.first().and_then(range)?;
        let within = |other: Range<u64>| other.start <= first.start && first.end <= other.end;
        let second = blocks.get(1).and_then(range);
        (first.end <= ack || second.is_some_and(within)).then_some(first)
    }

    /// Whether an ACK is a duplicate ACK (RFC 5681 §2); with SACK, one with new SACK information
    /// (RFC 6675 §2). It is none while only the FIN is outstanding, as nothing can have arrived
    /// behind the FIN.
    fn is_duplicate_ack(
        &self,
        segment: &Segment,
        ack: u64,
        window_changed: bool,
        newly_sacked: u64,
    ) -> bool {
        // RFC 5681 §2 (a): data is outstanding.
        let data_outstanding = self.tx.nxt > self.tx.una && self.tx.una < self.tx.written;
        if ack != self.tx.una || !data_outstanding {
            return false;
        }
        if self.agreed.sack {
            return newly_sacked > 0;
        }
        segment.sequence_len() == 0 && !window_changed
    }

    #[inline(never)]
    pub(super) fn handle_new_ack(&mut self, now: Time, segment: &Segment, ack: u64, held: bool) {
        let acked = ack - self.tx.una;
        let in_flight = self.in_flight();
        let counted = if self.options.newly_delivered { self.newly_delivered(ack) } else { acked };
        self.congestion.note_flight(in_flight);
        self.tx.una = ack;
        self.tx.nxt = self.tx.nxt.max(ack);
        self.recovery.scoreboard.advance(ack);
        self.recovery.dup_acks = 0;
        self.pending.ect_unconfirmed = false;
        self.timers.retries = 0;
        let rtt = self.sample_rtt(now, segment, ack);
        if self.recovery.phase != Phase::Open {
            self.judge_repair(now, segment);
        }
        if self.continue_repair(acked)
            && !held
            && !self.is_held_by_ecn(ack)
            && self.may_grow(in_flight)
        {
            self.grow(now, counted, in_flight, rtt);
        }
        self.restart_retransmit_timer(now);
        if self.tx.endless {
            self.tx.written += self.writable();
        } else if self.tx.write_blocked && self.writable() > 0 {
            self.tx.write_blocked = false;
            self.events.push(Event::Writable);
        }
    }

    /// Bytes that an ACK of `ack` acknowledges and no duplicate ACK or SACK block has reported before.
    #[cold]
    fn newly_delivered(&self, ack: u64) -> u64 {
        if self.agreed.sack {
            return self.delivered_by(ack, 0);
        }
        let reported = u64::from(self.recovery.dup_acks) * u64::from(self.agreed.mss);
        (ack - self.tx.una).saturating_sub(reported)
    }

    /// Takes an RTT sample, if the ACK yields one. Karn's rule: only segments sent once are timed
    /// (RFC 6298 §3). During a repair the echoed timestamp identifies the copy that arrived (RFC
    /// 7323 §4.1).
    fn sample_rtt(&mut self, now: Time, segment: &Segment, ack: u64) -> Option<Span> {
        let repairing = self.recovery.phase != Phase::Open;
        let timed = if self.rack_is_busy() {
            // Segments that were SACKed before have arrived long ago.
            self.tx.timing.drop_below(ack);
            let sample = self.recovery.rack.take_sample();
            // After a retransmission, the ACK does not identify the copy that arrived.
            let sample = sample.filter(|_| !self.recovery.rack.has_copy_below(ack));
            sample.map_or(Timed::Nothing, Timed::Sent)
        } else {
            self.tx.timing.acknowledge(ack)
        };
        let sent = match timed {
            Timed::Sent(sent) => sent,
            Timed::Nothing if repairing && self.dsack(segment, ack).is_none() => {
                self.time_echoed(now, segment)?
            }
            // With a DSACK an earlier copy had arrived, and its ACK was lost. The timestamp is the
            // earlier copy's: the receiver does not take one from a duplicate (RFC 7323 §5.3).
            Timed::Nothing | Timed::Pending => return None,
        };
        self.rtt.sample(sent, now);
        self.rtt.end_back_off();
        Some(self.rtt.last_sample())
    }

    /// When the segment was sent whose timestamp this one echoes, in milliseconds of the carrier's
    /// clock; `None` without an echo.
    pub(super) fn echoed_ms(&self, now: Time, segment: &Segment) -> Option<u64> {
        milliseconds(now).checked_sub(self.age_echoed_ms(now, segment)?)
    }

    /// The age of the timestamp that the segment echoes, in milliseconds; `None` without an echo.
    fn age_echoed_ms(&self, now: Time, segment: &Segment) -> Option<u64> {
        let echoed = segment.options.timestamps.filter(|_| self.agreed.timestamps)?.echo_reply;
        // As in Linux, 0 is no echo: a peer without a timestamp to echo sends 0 (RFC 7323 §3.2).
        if echoed == 0 {
            return None;
        }
        Some(u64::from(timestamp(now).wrapping_sub(echoed)))
    }

    fn time_echoed(&self, now: Time, segment: &Segment) -> Option<Time> {
        let age_ms = self.age_echoed_ms(now, segment)?;
        // Timestamps are whole milliseconds. Rounding up keeps the sample above the path's RTT.
        let age = Span::from_millis(age_ms + 1);
        now.as_nanos().checked_sub(age.as_nanos()).map(Time::from_nanos)
    }

    /// Validation of cwnd: it may grow only while it limits the sender (RFC 7661). A carrier may pass
    /// in several ACKs before it polls, so the flight falls from one to the next although data waits:
    /// the first ACK decides for all.
    fn may_grow(&mut self, in_flight: u64) -> bool {
        if !self.options.cwnd_validation {
            return true;
        }
        if !core::mem::replace(&mut self.tx.in_batch, true) {
            self.tx.cwnd_limited = self.is_cwnd_limited(in_flight);
        }
        self.tx.cwnd_limited
    }

    pub(super) fn is_cwnd_limited(&self, in_flight: u64) -> bool {
        if self.options.validates_by_round {
            return self.was_cwnd_limited();
        }
        let used = in_flight + u64::from(self.agreed.mss);
        let cwnd = self.congestion.cwnd_bytes();
        // In slow start cwnd may be twice the data in flight, or it could not double.
        let slow_start = cwnd < self.congestion.ssthresh();
        let full = if slow_start { 2 * used > cwnd } else { used > cwnd };
        // Data that waits for the pacer is limited by cwnd too: the pacing rate follows cwnd.
        full || self.timers.wait.is_set()
    }

    /// True if cwnd limits the sender by its use in the present round trip.
    #[cold]
    fn was_cwnd_limited(&self) -> bool {
        let (usage, cwnd) = (&self.tx.usage, self.congestion.cwnd_bytes());
        usage.full || (cwnd < self.congestion.ssthresh() && cwnd < 2 * usage.flight)
    }

    fn grow(&mut self, now: Time, bytes_acked: u64, in_flight: u64, rtt: Option<Span>) {
        let mss = u64::from(self.agreed.mss);
        let slow_start = self.congestion.cwnd_bytes() < self.congestion.ssthresh();
        let growth = if slow_start { self.options.growth } else { self.options.avoidance_growth };
        // RFC 3465 §2: bytes acknowledged, up to L segments; RFC 2581 §3.1: one segment.
        let credit = match growth {
            Growth::PerAck => mss,
            // After a timeout, an ACK may cover data that arrived long ago (RFC 3465 §2.3).
            Growth::PerByte { .. } if self.recovery.phase == Phase::Loss => bytes_acked.min(mss),
            Growth::PerByte { limit } => bytes_acked.min(mss.saturating_mul(u64::from(limit))),
        };
        self.congestion.on_ack(&Ack {
            now,
            bytes_acked,
            credit,
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min_rtt(),
            in_flight,
            acked_total: self.tx.una - 1,
            sent_total: self.tx.max - 1,
        });
    }

    /// Stops the retransmission timer if everything is acknowledged, else restarts it (RFC 6298
    /// §5.2, §5.3). Of the partial ACKs of a recovery, only the first restarts it (RFC 6582 §3.2
    /// step 3).
    fn restart_retransmit_timer(&mut self, now: Time) {
        let partial = self.recovery.phase == Phase::FastRecovery;
        if self.tx.una == self.tx.max && !self.pending.echo_pause {
            self.timers.retransmit = Deadline::NEVER;
        } else if !partial || self.agreed.sack || !self.recovery.partial_ack_seen {
            self.arm_retransmit_timer(now);
            self.recovery.partial_ack_seen = partial;
        }
    }

    /// Changes the state if this end's FIN is acknowledged (RFC 9293 §3.10.7.4). False if the
    /// connection is closed then, and the rest of the segment has no effect.
    fn state_after_ack(&mut self, now: Time) -> bool {
        if !self.tx.fin_acked() {
            return true;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.events.push(Event::Delivered);
            }
            State::Closing => {
                self.events.push(Event::Delivered);
                self.enter_time_wait(now);
            }
            State::LastAck => {
                self.events.push(Event::Delivered);
                self.finish(None);
                return false;
            }
            _ => {}
        }
        true
    }
}
