//! Decides whether a segment is acceptable: RFC 9293 §3.10.7.4 steps 1 to 4 with the checks of RFC
//! 5961, and PAWS (RFC 7323 §5).

use super::{Connection, Error, State};
use crate::{Flags, Segment, Timestamps};
use windlass_base::{Span, Time};

/// TS.Recent is invalid once it is that old: from 2^31 ticks on, 24.8 days, later timestamps look
/// older (RFC 7323 §5.5).
const TS_RECENT_VALID: Span = Span::from_secs(24 * 24 * 3600);

impl Connection {
    /// True if a listener may accept `syn` in place of this connection, which must be in TIME-WAIT
    /// ([`Segment::reopens`]).
    pub fn makes_room_for(&self, syn: &Segment) -> bool {
        let received = self.rx.isn.at(self.rx.reassembly.nxt());
        self.state == State::TimeWait && syn.reopens(received, self.rx.ts_recent)
    }

    /// The position at which an acceptable segment begins; `None` if the segment needs no further
    /// handling.
    #[inline]
    pub(super) fn validate(&mut self, now: Time, segment: &Segment) -> Option<u64> {
        if self.has_fast_paths() && self.is_predicted(now, segment) {
            return Some(self.rx.reassembly.nxt());
        }
        self.validate_closely(now, segment)
    }

    #[inline(never)]
    fn validate_closely(&mut self, now: Time, segment: &Segment) -> Option<u64> {
        let start = segment.seq.unwrap_near(self.rx.isn, self.rx.reassembly.nxt());
        if self.is_repeated_syn(segment, start) {
            return None;
        }
        // RFC 7323 §5.3 R1: PAWS comes before the window.
        if self.fails_paws(now, segment) {
            // Data that arrived before is reported all the same, as Linux does: an original that its copy has
            // overtaken is always older than TS.Recent, and its DSACK shows that the copy was needless.
            self.note_duplicate(segment, start);
            return None;
        }
        // RFC 9293 §3.10.7.4, first: the sequence number.
        let Some(start) = start.filter(|start| self.in_window(segment, *start)) else {
            self.answer_unacceptable(now, segment, start);
            return None;
        };
        // RFC 9293 §3.10.7.4, second: RST.
        if segment.flags.contains(Flags::RST) {
            self.handle_reset(now, start);
            return None;
        }
        if segment.flags.contains(Flags::SYN) {
            // A SYN in this state is an old duplicate, an attack, or from a peer that restarted;
            // that peer answers the challenge ACK with a reset (RFC 5961 §4.2).
            self.challenge(now);
            return None;
        }
        segment.flags.contains(Flags::ACK).then_some(start)
    }

    /// True for a segment at RCV.NXT without special flags, which passes every test of
    /// [`Connection::validate_closely`]. Most segments of a connection are of that kind.
    #[inline(always)]
    pub(super) fn is_predicted(&self, now: Time, segment: &Segment) -> bool {
        let nxt = self.rx.reassembly.nxt();
        let control = Flags::SYN | Flags::FIN | Flags::RST | Flags::ACK;
        segment.seq == self.rx.isn.at(nxt)
            && segment.flags & control == Flags::ACK
            && nxt + u64::from(segment.payload_len) <= self.rx.window.edge()
            && self.predicts_timestamps(now, segment)
    }

    /// True if the segment has the timestamps that were agreed on, and PAWS accepts them.
    #[inline(always)]
    fn predicts_timestamps(&self, now: Time, segment: &Segment) -> bool {
        if segment.options.timestamps.is_none() && !self.agreed.timestamps {
            return true;
        }
        let timestamps = segment.options.timestamps.filter(|_| self.agreed.timestamps);
        timestamps.is_some_and(|timestamps| !self.is_older(now, timestamps))
    }

    /// True for a retransmitted SYN: the peer has not received the SYN-ACK, which is sent again.
    fn is_repeated_syn(&mut self, segment: &Segment, start: Option<u64>) -> bool {
        let repeated = self.state == State::SynReceived && segment.opens() && start == Some(0);
        if repeated && !self.resets_mixed_offer(segment) {
            self.tx.nxt = 0;
            self.tx.timing.forget();
            // A second SYN without ECN flags withdraws the offer of ECN (RFC 3168 §6.1.1.1).
            self.agreed.ecn &= segment.flags.contains(Flags::ECE | Flags::CWR);
        }
        repeated
    }

    /// The acceptability test of RFC 9293 §3.4 (table 6), with one difference: a segment without
    /// data may also lie at the right edge. A peer that has used up the window sends its ACKs
    /// there, even while a loss holds RCV.NXT back.
    fn in_window(&self, segment: &Segment, start: u64) -> bool {
        let len = u64::from(segment.sequence_len());
        let nxt = self.rx.reassembly.nxt();
        let edge = self.rx.window.edge().max(nxt);
        match len {
            0 => (nxt..=edge).contains(&start),
            _ => start < edge && start + len > nxt,
        }
    }

    fn fails_paws(&mut self, now: Time, segment: &Segment) -> bool {
        if !self.agreed.timestamps || segment.flags.contains(Flags::RST) {
            return false;
        }
        // RFC 7323 §3.2: once agreed, every segment carries timestamps; others are dropped.
        let Some(timestamps) = segment.options.timestamps else { return true };
        let old = self.is_older(now, timestamps);
        if old {
            self.rx.acks.send_pure_ack_now();
        }
        old
    }

    /// True if the timestamp is older than TS.Recent, and TS.Recent is valid.
    fn is_older(&self, now: Time, timestamps: Timestamps) -> bool {
        let newest = self.rx.ts_recent.unwrap_or(timestamps.value);
        (timestamps.value.wrapping_sub(newest) as i32) < 0
            && now.saturating_since(self.rx.ts_recent_at) < TS_RECENT_VALID
    }

    /// Updates TS.Recent (RFC 7323 §5.3 R3). Only segments in the window with an acceptable ACK may do so: else an
    /// attacker could make PAWS drop the peer's segments.
    #[inline]
    pub(super) fn remember_timestamp(&mut self, now: Time, segment: &Segment, start: u64) {
        if let Some(timestamps) = segment.options.timestamps
            && start <= self.rx.last_ack_sent
        {
            self.note_timestamp(now, timestamps);
        }
    }

    pub(super) fn note_timestamp(&mut self, now: Time, timestamps: Timestamps) {
        self.rx.ts_recent = Some(timestamps.value);
        self.rx.ts_recent_at = now;
    }

    /// Answers an unacceptable segment by an ACK (RFC 9293 §3.10.7.4, first step). Some of its
    /// contents still count: the ACK of a window probe, or a repeated FIN.
    fn answer_unacceptable(&mut self, now: Time, segment: &Segment, start: Option<u64>) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.heard(now);
        self.rx.acks.send_pure_ack_now();
        self.note_duplicate(segment, start);
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            self.enter_time_wait(now);
            return;
        }
        // In a simultaneous open the peer's SYN-ACK lies below the window, and its ACK counts.
        let syn = segment.flags.contains(Flags::SYN) && self.state != State::SynReceived;
        if segment.flags.contains(Flags::ACK) && !syn {
            self.acknowledge_from_outside(now, segment);
        }
    }

    /// Records a segment whose payload has already arrived, for the DSACK in the next ACK (RFC 2883
    /// §4).
    fn note_duplicate(&mut self, segment: &Segment, start: Option<u64>) {
        let Some(start) = start.filter(|start| *start > 0 && segment.payload_len > 0) else {
            return;
        };
        let end = start + u64::from(segment.payload_len);
        if end <= self.rx.reassembly.nxt() {
            self.rx.reassembly.insert(start..end);
            self.rx.acks.duplicate();
            self.note_repeated_data();
            self.stats.duplicates_received += 1;
        }
    }

    /// Answers a suspicious segment by a challenge ACK (RFC 5961), within the limit of their rate.
    pub(super) fn challenge(&mut self, now: Time) {
        if self.challenges.allow(now) {
            self.rx.acks.send_pure_ack_now();
        }
    }

    /// Handles a reset in the window: exactly at RCV.NXT it takes effect, elsewhere it is answered
    /// by a challenge ACK (RFC 5961 §3.2).
    fn handle_reset(&mut self, now: Time, start: u64) {
        if start != self.rx.reassembly.nxt() {
            return self.challenge(now);
        }
        match self.state {
            State::SynReceived => self.finish(Some(Error::Refused)),
            State::TimeWait => self.finish(None),
            _ => self.finish(Some(Error::Reset)),
        }
    }
}
