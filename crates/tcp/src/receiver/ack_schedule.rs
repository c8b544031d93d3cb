//! When the next ACK is due. `conn::deliver` reports arrivals, `conn::transmit` asks whether an ACK is
//! due, and `conn::emit` reports the ACK that was sent.

use crate::config::AckPolicy;
use crate::deadline::Deadline;
use windlass_base::{Span, Time};

/// When the receiver acknowledges (RFC 5681 §4.2, RFC 9293 §3.8.6.3).
#[derive(Clone, Debug)]
pub(crate) struct AckSchedule {
    policy: AckPolicy,
    due: Due,
    /// Bytes in order that no ACK has covered yet.
    unacked_bytes: u64,
    /// The largest segment so far, in bytes: the size of a full segment of this peer.
    largest_segment: u32,
    /// ACKs left to send for the data that has arrived ([`AckPolicy::Split`]).
    parts_left: u32,
    /// Number of further segments to acknowledge at once ([`AckPolicy::Linux`]).
    quick: u32,
    /// The last segment had PSH or was not full: the peer has no more data for now.
    ended: bool,
    /// The application usually answers incoming data, and the answer carries the ACK.
    answers: bool,
    last_data: Time,
    /// The next ACK acknowledges only the data before this position.
    first: Option<u64>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Due {
    Never,
    At(Time),
    /// At once; data that is ready to be sent carries the ACK.
    Now,
    /// At once, as a pure ACK: the peer counts duplicate ACKs (RFC 5681 §2), or ACKs are split.
    NowAlone,
}

/// The most ACKs that may be due at a time, whatever the peer sends.
const MAX_PARTS: u32 = 4096;

/// Segments acknowledged at once at the beginning of a connection (Linux: TCP_MAX_QUICKACKS).
const QUICK_SEGMENTS: u32 = 16;

/// Segments acknowledged at once from one on whose mark begins an echo.
const QUICK_AFTER_MARK: u32 = 2;

impl AckSchedule {
    pub(crate) fn new(policy: AckPolicy) -> AckSchedule {
        AckSchedule {
            policy,
            due: Due::Never,
            unacked_bytes: 0,
            largest_segment: 0,
            parts_left: 0,
            quick: QUICK_SEGMENTS,
            ended: false,
            answers: false,
            last_data: Time::ZERO,
            first: None,
        }
    }

    /// Makes an ACK of the data before `position` due at once, and another one of the rest.
    pub(crate) fn acknowledge_first(&mut self, position: u64) {
        self.first = Some(position);
        self.send_pure_ack_now();
    }

    /// Schedules the ACK of `bytes` of data in order, in one segment or several coalesced ones.
    /// `push`: the segment had PSH.
    #[inline(always)]
    pub(crate) fn data_in_order(&mut self, now: Time, bytes: u32, mss: u32, push: bool) {
        self.largest_segment = self.largest_segment.max(bytes.min(mss));
        self.unacked_bytes += u64::from(bytes);
        match self.policy {
            AckPolicy::Immediate => self.send_ack_now(),
            AckPolicy::Delayed { max } => self.delay(now, max),
            AckPolicy::Linux { max } => {
                self.ended |= push || bytes < self.largest_segment;
                self.last_data = now;
                self.delay_unless_quick(now, max);
            }
            AckPolicy::Split { parts } => {
                // ACK division (Savage et al. 1999): each part is an ACK of its own.
                self.parts_left = (self.parts_left + parts).min(MAX_PARTS);
                self.send_pure_ack_now();
            }
        }
    }

    #[inline(never)]
    fn delay_unless_quick(&mut self, now: Time, max: Span) {
        if self.quick == 0 {
            return self.delay(now, max);
        }
        self.quick -= 1;
        self.send_ack_now();
    }

    /// The application has read all data in order. If the peer has no more data for now, the ACK is
    /// due at once, unless an answer is likely to carry it (Linux: tcp_cleanup_rbuf).
    pub(crate) fn all_taken(&mut self) {
        if self.ended && !self.answers && matches!(self.due, Due::At(_)) {
            self.due = Due::Now;
        }
    }

    /// The peer's FIN arrives, which may wait for an answer: the application is likely to close, too (Linux enters
    /// pingpong mode). Without data before it, it does not.
    pub(crate) fn fin(&mut self, now: Time) {
        match self.policy {
            AckPolicy::Linux { max } if self.largest_segment > 0 => {
                self.answers = true;
                self.delay(now, max);
            }
            _ => self.send_ack_now(),
        }
    }

    /// Data is sent. Soon after incoming data it counts as an answer (Linux: pingpong mode).
    pub(crate) fn data_out(&mut self, now: Time) {
        if let AckPolicy::Linux { max } = self.policy {
            self.answers |= self.largest_segment > 0 && now.saturating_since(self.last_data) < max;
        }
    }

    /// A duplicate segment arrived: the peer has missed its ACK, or got it too late. This segment
    /// and the next ones are acknowledged at once (Linux: tcp_enter_quickack_mode).
    pub(crate) fn duplicate(&mut self) {
        (self.quick, self.answers) = (QUICK_SEGMENTS, false);
        self.send_pure_ack_now();
    }

    /// A mark begins an echo. With [`AckPolicy::Linux`] its segment and the next one are acknowledged at once, and
    /// what comes behind them waits (Linux: `__tcp_ecn_check_ce`).
    pub(crate) fn mark(&mut self) {
        if self.follows_marks() {
            (self.quick, self.answers) = (self.quick.max(QUICK_AFTER_MARK), false);
        }
    }

    /// True if the ACKs after a mark are those of [`AckSchedule::mark`].
    pub(crate) fn follows_marks(&self) -> bool {
        matches!(self.policy, AckPolicy::Linux { .. })
    }

    #[inline(never)]
    fn delay(&mut self, now: Time, max: Span) {
        // RFC 5681 §4.2: an ACK for every second full-sized segment at least.
        if self.unacked_bytes >= 2 * u64::from(self.largest_segment) {
            return self.send_ack_now();
        }
        // RFC 9293 §3.8.6.3: the first segment waits, for less than half a second.
        if self.due == Due::Never {
            self.due = Due::At(now + max);
        }
    }

    /// Makes the ACK due at once; data may carry it.
    pub(crate) fn send_ack_now(&mut self) {
        if self.due != Due::NowAlone {
            self.due = Due::Now;
        }
    }

    /// Makes a pure ACK due at once.
    pub(crate) fn send_pure_ack_now(&mut self) {
        self.due = Due::NowAlone;
    }

    /// Makes a delayed ACK due if its deadline has passed.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if let Due::At(deadline) = self.due
            && deadline <= now
        {
            self.due = Due::Now;
            // No answer came in time, so the next ACK does not wait for one (Linux leaves pingpong
            // mode, too).
            self.answers = false;
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        match self.due {
            Due::At(deadline) => Deadline::at(deadline),
            _ => Deadline::NEVER,
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        matches!(self.due, Due::Now | Due::NowAlone)
    }

    /// An ACK is due before the next segment of the same batch is handled.
    pub(crate) fn is_due_within_batch(&self) -> bool {
        self.is_due() && (self.first.is_some() || self.policy.acknowledges_within_batches())
    }

    pub(crate) fn is_pure_ack_due(&self) -> bool {
        self.due == Due::NowAlone
    }

    /// The number to acknowledge next, between the last one sent and `nxt`: `nxt` itself unless
    /// ACKs are split.
    pub(crate) fn next_ack(&self, last_sent: u64, nxt: u64) -> u64 {
        if let Some(first) = self.first {
            return first;
        }
        match self.parts_left {
            0 | 1 => nxt,
            // The same number twice would be a duplicate ACK.
            parts => (last_sent + (nxt - last_sent) / u64::from(parts)).max(last_sent + 1).min(nxt),
        }
    }

    /// Records that an ACK for `ack` was sent.
    #[inline]
    pub(crate) fn sent(&mut self, ack: u64, nxt: u64) {
        if ack < nxt && self.has_another_due() {
            return;
        }
        self.first = None;
        self.parts_left = 0;
        self.unacked_bytes = 0;
        self.due = Due::Never;
        self.ended = false;
    }

    /// True if an ACK that did not cover all data is followed by another one at once.
    #[cold]
    fn has_another_due(&mut self) -> bool {
        if self.first.take().is_some() {
            self.due = Due::Now;
            return true;
        }
        // ACK division: the next part acknowledges more of the same data.
        self.parts_left = self.parts_left.saturating_sub(1);
        self.parts_left > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_nanos(5);
    const DELAYED: AckPolicy = AckPolicy::Delayed { max: Span::from_millis(200) };

    #[test]
    fn rfc5681_every_second_full_segment_or_after_a_while() {
        let mut acks = AckSchedule::new(DELAYED);
        acks.data_in_order(NOW, 100, 100, false);
        assert!(!acks.is_due());
        assert_eq!(acks.deadline().time(), Some(NOW + Span::from_millis(200)));
        acks.data_in_order(NOW, 100, 100, false);
        assert!(acks.is_due());
        acks.sent(200, 200);
        acks.data_in_order(NOW, 10, 100, true);
        acks.all_taken();
        acks.handle_timeout(NOW + Span::from_millis(199));
        assert!(!acks.is_due());
        acks.handle_timeout(NOW + Span::from_millis(200));
        assert!(acks.is_due());
    }

    /// Past the first segments, with `nxt` acknowledged.
    fn linux() -> (AckSchedule, u64) {
        let mut acks = AckSchedule::new(AckPolicy::Linux { max: Span::from_millis(40) });
        let mut nxt = 0;
        for _ in 0..QUICK_SEGMENTS {
            acks.data_in_order(NOW, 100, 100, false);
            assert!(acks.is_due(), "the first segments are acknowledged at once");
            nxt += 100;
            acks.sent(nxt, nxt);
        }
        (acks, nxt)
    }

    #[test]
    fn linux_waits_for_a_second_segment_unless_the_first_was_the_last() {
        let (mut acks, nxt) = linux();
        acks.data_in_order(NOW, 100, 100, false);
        acks.all_taken();
        assert!(!acks.is_due(), "more is to come");
        acks.sent(nxt + 100, nxt + 100);
        acks.data_in_order(NOW, 100, 100, true);
        assert!(!acks.is_due(), "the application has not read it");
        acks.all_taken();
        assert!(acks.is_due());
        acks.sent(nxt + 200, nxt + 200);
        acks.data_in_order(NOW, 10, 100, false);
        acks.all_taken();
        assert!(acks.is_due(), "less than a full segment ends something too");
    }

    #[test]
    fn linux_lets_an_ack_ride_on_an_answer_until_none_comes() {
        let (mut acks, nxt) = linux();
        acks.data_out(NOW + Span::from_millis(1));
        acks.data_in_order(NOW, 10, 100, true);
        acks.all_taken();
        assert!(!acks.is_due());
        acks.handle_timeout(NOW + Span::from_millis(40));
        acks.sent(nxt + 10, nxt + 10);
        acks.data_in_order(NOW, 10, 100, true);
        acks.all_taken();
        assert!(acks.is_due());
    }

    #[test]
    fn linux_acknowledges_at_once_for_a_while_after_a_duplicate() {
        let (mut acks, nxt) = linux();
        acks.duplicate();
        assert!(acks.is_pure_ack_due());
        acks.sent(nxt, nxt);
        for _ in 0..QUICK_SEGMENTS {
            acks.data_in_order(NOW, 100, 100, false);
            assert!(acks.is_due());
            acks.sent(nxt, nxt);
        }
        acks.data_in_order(NOW, 100, 100, false);
        assert!(!acks.is_due());
    }

    #[test]
    fn linux_acknowledges_two_segments_at_once_from_a_mark_on() {
        let (mut acks, nxt) = linux();
        acks.mark();
        let at_once = [0; 4].map(|_| {
            acks.data_in_order(NOW, 100, 100, false);
            let due = acks.is_due();
            if due {
                acks.sent(nxt, nxt);
            }
            due
        });
        assert_eq!(at_once, [true, true, false, true]);
    }

    #[test]
    fn a_split_ack_ascends_to_the_whole_segment() {
        let mut acks = AckSchedule::new(AckPolicy::Split { parts: 4 });
        acks.data_in_order(NOW, 100, 100, false);
        let mut last = 0;
        for expected in [25, 50, 75, 100] {
            assert!(acks.is_pure_ack_due());
            last = acks.next_ack(last, 100);
            assert_eq!(last, expected);
            acks.sent(last, 100);
        }
        assert!(!acks.is_due());
    }

    #[test]
    fn more_parts_than_bytes_end_all_the_same() {
        let mut acks = AckSchedule::new(AckPolicy::Split { parts: 1000 });
        acks.data_in_order(NOW, 3, 100, false);
        let (mut last, mut sent) = (0, 0);
        while acks.is_due() {
            last = acks.next_ack(last, 3);
            acks.sent(last, 3);
            sent += 1;
        }
        assert_eq!(last, 3);
        assert!(sent <= 1000);
    }
    #[test]
    fn linux_takes_data_sent_within_the_delay_for_an_answer_and_later_data_not() {
        for (ms, answers) in [(0, true), (39, true), (40, false)] {
            let (mut acks, _) = linux();
            acks.data_out(NOW + Span::from_millis(ms));
            acks.data_in_order(NOW + Span::from_millis(ms), 10, 100, true);
            acks.all_taken();
            assert_eq!(acks.is_due(), !answers, "{ms} ms");
        }
    }
}
